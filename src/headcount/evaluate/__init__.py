"""What a trained model is worth: scores, size and speed."""
