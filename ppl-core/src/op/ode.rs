//! Ordinary differential equations, solved by steps of a stated number.

use super::{Arrays, Graph, Var};
use crate::base::{Error, Result, Shape, Source};
use ndarray::Array1;

impl Graph {
    /// The solution of an ordinary differential equation at given times, by Runge and Kutta's method of fourth order
    /// with a stated number of equal steps from each time to the next.
    ///
    /// ```text
    /// dy/dt = f(t, y),    y(start) = y₀
    ///
    /// k₁ = f(t, y)                    k₃ = f(t + h/2, y + h/2 k₂)
    /// k₂ = f(t + h/2, y + h/2 k₁)     k₄ = f(t + h, y + h k₃)
    /// y(t + h) = y + h/6 (k₁ + 2 k₂ + 2 k₃ + k₄),    h = (time − time before)/steps
    /// ```
    ///
    /// `initial` is `(start, y₀)`, the time that is known and the state then: a value, or a tuple, array or vector of
    /// values of any shapes ([`Arrays`]). `slopes` is `f`: it takes the time, a number, and a state, and returns the
    /// derivative of the state with respect to time, of the same shapes. The result is the state at each of `times`,
    /// stacked along a new first axis: `[times, …]` for an array of shape `[…]`. The first time may be `start`
    /// itself, where the state is `y₀`.
    ///
    /// State and time have the units of the model: `f` is in units of the state by unit of time, and the step `h` is
    /// in units of time. `f` may use values of the graph around it, such as latent values of a model or columns of a
    /// record; the result can be differentiated by them and by `y₀`, any number of times; the derivative is that of
    /// what the steps compute. Times are public numbers, known while tracing.
    ///
    /// `f` is traced once for each of the four slopes. The steps are one loop ([`Graph::scan`]): the length of the
    /// program, and the time to plan it, depend neither on the number of times nor on that of steps. The states of
    /// all steps are kept.
    ///
    /// # Errors of the method
    /// The error at a fixed time falls as `h⁴` where `f` has four derivatives: half the step, a sixteenth of the
    /// error. It is not estimated and no step is ever repeated, so that the program is the same for all values;
    /// choose `steps` by doubling it until the states, or the posterior, stay where they are, at values of the
    /// parameters that the prior makes likely.
    ///
    /// # When not to use it
    /// For stiff equations, whose fastest part falls off much faster than the solution changes (rates of a reaction
    /// that differ by orders of magnitude): explicit steps diverge once `h` times the largest rate exceeds about 2.8,
    /// however smooth the solution. Nor for equations whose `f` jumps within a step (a dose that is given at a time:
    /// make that a time, and solve on from the changed state), or whose solution runs away before the last time: the
    /// state is then infinite or NaN, as is the log density.
    ///
    /// # Errors
    /// If there is no time, times are not finite, do not increase or begin before `start`, `steps` is 0, there is
    /// nothing in the state, or the slopes have other shapes than the state; whatever error `slopes` returns; as
    /// [`Graph::scan`].
    ///
    /// ```
    /// use ppl_core::{Graph, Program, gradient};
    /// // dy/dt = −k y, so y(t) = y₀ e^(−k t).
    /// let graph = Graph::new();
    /// let (k, start) = (graph.input("k", ())?, graph.input("start", ())?);
    /// let y = graph.runge_kutta((0.0, start), &[0.5, 1.0, 3.0], 16, |_, y| Ok(-k * y))?;
    /// let slope = gradient(y.element(0, 2), &[k])?[0];
    /// let program = Program::new(&graph, &[y, slope])?;
    /// let found = program.interpret(&[("k".to_owned(), vec![0.7]), ("start".to_owned(), vec![2.0])].into(), None)?;
    /// for (y, t) in found[0].iter().zip([0.5, 1.0, 3.0]) {
    ///     assert!((y - 2.0 * f64::exp(-0.7 * t)).abs() < 1e-5);
    /// }
    /// assert!((found[1][0] + 3.0 * 2.0 * f64::exp(-2.1)).abs() < 1e-4); // −t y₀ e^(−k t)
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    ///
    /// # References
    /// E. Hairer, S. P. Nørsett, G. Wanner, "Solving Ordinary Differential Equations I" (1993), chapter II.
    #[track_caller]
    pub fn runge_kutta<'g, S: Arrays<'g>>(
        &'g self,
        initial: (f64, S),
        times: &[f64],
        steps: usize,
        slopes: impl Fn(Var<'g>, S) -> Result<S>,
    ) -> Result<S> {
        let source_line = Source::caller();
        let told = |told: String| Error::Values(format!("runge_kutta: {told} ({source_line})"));
        let (start, state) = initial;
        let arrays = state.listed();
        check(start, times, steps).map_err(told)?;
        if arrays.is_empty() {
            return Err(told("there is nothing in the state".to_owned()));
        }
        let all = Shape::from([times.len(), steps]).checked()?.elements();

        let before = std::iter::once(&start).chain(times);
        let lengths: Vec<f64> =
            times.iter().zip(before).map(|(time, before)| (time - before) / steps as f64).collect();
        // Each step's beginning by itself: a sum of steps would be off by the sum of their roundings.
        let begin = |step: usize| {
            let (place, done) = (step / steps, step % steps);
            let before = if place == 0 { start } else { times[place - 1] };
            before + done as f64 * lengths[place]
        };
        let t = self.array(&Array1::from_shape_fn(all, begin).into_dyn());
        let h = self.array(&Array1::from_shape_fn(all, |step| lengths[step / steps]).into_dyn());

        let slopes_at = |t: Var<'g>, state: S| -> Result<Vec<Var<'g>>> {
            let found = slopes(t, state)?.listed();
            self.check()?;
            let [got, needed] = [&found, &arrays].map(|arrays| shapes_of(arrays));
            match got == needed {
                true => Ok(found),
                false => Err(told(format!("the slopes have shapes [{got}], and the state has [{needed}]"))),
            }
        };
        let (_, path) = self.scan(state, (t, h), |state, (t, h)| {
            let now = state.listed();
            let moved = |by: Var<'g>, slopes: &[Var<'g>]| {
                state.with(&mut now.iter().zip(slopes).map(|(y, slope)| *y + by * *slope))
            };
            let half = 0.5 * h;
            let first = slopes_at(t, copy(&state))?;
            let second = slopes_at(t + half, moved(half, &first))?;
            let third = slopes_at(t + half, moved(half, &second))?;
            let fourth = slopes_at(t + h, moved(h, &third))?;
            let mean = |k: usize| (first[k] + 2.0 * (second[k] + third[k]) + fourth[k]) / 6.0;
            let next = moved(h, &(0..now.len()).map(mean).collect::<Vec<_>>());
            Ok((copy(&next), next))
        })?;
        // The last of the steps to each time.
        let found =
            path.with(&mut path.listed().into_iter().map(|array| array.slice_by(0, steps - 1.., steps)));
        self.check()?;
        Ok(found)
    }
}

/// The same values.
fn copy<'g, S: Arrays<'g>>(state: &S) -> S {
    state.with(&mut std::iter::empty())
}

/// What is wrong with times and the number of steps.
fn check(start: f64, times: &[f64], steps: usize) -> Result<(), String> {
    if steps == 0 {
        return Err("0 steps from a time to the next, and 1 is the least".to_owned());
    }
    if !start.is_finite() {
        return Err(format!("the start must be a finite time, got {start}"));
    }
    let Some(first) = times.first() else { return Err("there is no time to solve for".to_owned()) };
    if *first < start {
        return Err(format!("the first time, {first}, lies before the start, {start}"));
    }
    if let Some(time) = times.iter().find(|time| !time.is_finite()) {
        return Err(format!("times must be finite, got {time}"));
    }
    match times.windows(2).find(|pair| pair[0] >= pair[1]) {
        Some(pair) => Err(format!("times must increase, and after {} comes {}", pair[0], pair[1])),
        None => Ok(()),
    }
}

/// Shapes in words, one after the other.
fn shapes_of(arrays: &[Var<'_>]) -> String {
    arrays.iter().map(|array| array.shape().to_string()).collect::<Vec<_>>().join(", ")
}
