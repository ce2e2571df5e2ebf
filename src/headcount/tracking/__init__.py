"""Run folders in, MLflow out; a view that can be deleted and rebuilt; free of torch."""
