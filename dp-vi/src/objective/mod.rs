//! Model and guide as array programs: the evidence lower bound, its gradients, and where it starts.

pub(crate) mod coordinates;
pub(crate) mod curvature;
pub(crate) mod draws;
pub(crate) mod exchangeable;
pub(crate) mod frontier;
pub(crate) mod gradients;
pub(crate) mod initial;
pub(crate) mod moments;
pub(crate) mod noise_feed;
pub(crate) mod prior;
pub(crate) mod programs;
pub(crate) mod shared;
pub(crate) mod traced;
pub(crate) mod weights;
