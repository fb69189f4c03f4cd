//! Secret random subsets and secret noise for differentially private training.
