//! Bases of functions of one number, from public numbers alone.

/// Legendre polynomials of degrees 1 to `degree` of a number in `[-1, 1]`, where all of them lie in `[-1, 1]`.
///
/// ```text
/// (k + 1) P_{k+1}(x) = (2k + 1) x P_k(x) − k P_{k−1}(x),   P_0 = 1, P_1 = x
/// ```
pub(super) fn legendre(x: f64, degree: usize) -> Vec<f64> {
    let (mut before, mut found) = (1.0, vec![x]);
    for k in 1..degree {
        let (k, last) = (k as f64, found[found.len() - 1]);
        found.push(((2.0 * k + 1.0) * x * last - k * before) / (k + 1.0));
        before = last;
    }
    found
}

/// B-splines by the recursion of de Boor and Cox, with the outer knots repeated; their sum is 1.
///
/// ```text
/// B_{i,0} = 1 on [t_i, t_{i+1}),   B_{i,j} = (x − t_i)/(t_{i+j} − t_i) B_{i,j−1} + (t_{i+j+1} − x)/(t_{i+j+1} − t_{i+1}) B_{i+1,j−1}
/// ```
///
/// A number beyond the outer knots counts as the nearer one.
pub(super) fn b_splines(x: f64, (low, high): (f64, f64), inner: &[f64], degree: usize) -> Vec<f64> {
    let x = x.clamp(low, high);
    let mut knots = vec![low; degree + 1];
    knots.extend(inner);
    knots.extend(vec![high; degree + 1]);
    let share = |i: usize, j: usize| match knots[i + j] - knots[i] {
        0.0 => 0.0,
        width => (x - knots[i]) / width,
    };
    // The last interval that is not empty holds its right end, too.
    let last = knots.len() - degree - 2;
    let within = |i: usize| knots[i] <= x && (x < knots[i + 1] || i == last && x <= knots[i + 1]);
    let mut found: Vec<f64> = (0..knots.len() - 1).map(|i| f64::from(u8::from(within(i)))).collect();
    for j in 1..=degree {
        let next = |i: usize| share(i, j) * found[i] + (1.0 - share(i + 1, j)) * found[i + 1];
        found = (0..knots.len() - 1 - j).map(next).collect();
    }
    found
}
