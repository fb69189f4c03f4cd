//! Programs to run: the private logistic regression quickstart and its command for any CSV file.
