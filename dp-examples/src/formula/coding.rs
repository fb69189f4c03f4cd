//! Which categories have a column, so that a design matrix has full rank.
//!
//! A factor whose columns add up to 1 (categories; splines with their first one) spans the constant. Of a product of
//! such factors only what earlier terms do not span is new:
//!
//! ```text
//! s:t  spans  1, s⁻, t⁻, s⁻t⁻          s⁻: s without its first category
//! what is new is put together again by   X + X s⁻ → X s
//! ```
//!
//! so that `0 + s` has a column for each category, `1 + s` for all but the first, and `a:s` without `a` for each.
//! This is the rule of patsy and formulaic, whose order of columns it keeps.

use super::Term;

/// A factor's number, and whether it goes without its first column.
pub(super) type Scoped = (usize, bool);

/// A product of factors, each with all of its columns or without the first.
pub(super) type Product = Vec<Scoped>;

/// What has to be coded for each term. `factors` are the numbers of a term's factors; `spans` says which factors
/// span the constant.
pub(super) fn products(terms: &[Vec<usize>], spans: &impl Fn(usize) -> bool) -> Vec<Vec<Product>> {
    let mut spanned: Vec<Product> = Vec::new();
    terms
        .iter()
        .map(|factors| {
            let mut span: Vec<Product> = Vec::new();
            for product in spanned_by(factors, spans) {
                if !holds(&spanned, &product) && !holds(&span, &product) {
                    span.push(product);
                }
            }
            spanned.extend(span.iter().cloned());
            simplified(span)
        })
        .collect()
}

/// All products of the factors, each in turn without its first column or left out where it spans the constant: the
/// last factor changes fastest.
fn spanned_by(factors: &[usize], spans: &impl Fn(usize) -> bool) -> Vec<Product> {
    let mut found: Vec<Product> = vec![Vec::new()];
    for &factor in factors {
        let choices: &[Option<Scoped>] =
            if spans(factor) { &[Some((factor, true)), None] } else { &[Some((factor, false))] };
        let longer = |product: &Product| -> Vec<Product> {
            choices.iter().map(|choice| product.iter().copied().chain(*choice).collect()).collect()
        };
        found = found.iter().flat_map(longer).collect();
    }
    found
}

fn same(a: &Product, b: &Product) -> bool {
    a.len() == b.len() && a.iter().all(|factor| b.contains(factor))
}

fn holds(products: &[Product], product: &Product) -> bool {
    products.iter().any(|other| same(other, product))
}

/// Puts products together by `X + X s⁻ → X s` until there is nothing left to do.
fn simplified(mut products: Vec<Product>) -> Vec<Product> {
    products.sort_by_key(Vec::len);
    let mut found: Vec<Product> = Vec::new();
    for product in products {
        let joined = found.iter().enumerate().find_map(|(place, shorter)| {
            let mut new = product.iter().filter(|factor| !shorter.contains(factor));
            match (new.next(), new.next()) {
                (Some(&(factor, true)), None) if product.len() == shorter.len() + 1 => Some((place, factor)),
                _ => None,
            }
        });
        match joined {
            Some((place, full)) => {
                found.remove(place);
                let whole = |&(factor, reduced): &Scoped| (factor, reduced && factor != full);
                let product = product.iter().map(whole).collect();
                if !holds(&found, &product) {
                    found.push(product);
                }
                found = simplified(found);
            }
            None if holds(&found, &product) => {}
            None => found.push(product),
        }
    }
    found
}

/// Numbers of the terms' factors, equal ones with the same number; and one of each.
pub(super) fn numbered<'t>(terms: &'t [Term]) -> (Vec<Vec<usize>>, Vec<&'t super::Factor>) {
    let mut factors: Vec<&super::Factor> = Vec::new();
    let numbers = terms.iter().map(|term| {
        let number = |factor: &'t super::Factor| {
            factors.iter().position(|known| *known == factor).unwrap_or_else(|| {
                factors.push(factor);
                factors.len() - 1
            })
        };
        term.factors.iter().map(number).collect()
    });
    let numbers = numbers.collect();
    (numbers, factors)
}
