//! Differentially private variational inference: a model, a budget, a posterior and a privacy statement.
