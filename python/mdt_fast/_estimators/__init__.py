"""The estimators in the form of scikit-learn."""
