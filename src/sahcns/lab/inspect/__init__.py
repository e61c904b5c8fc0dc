"""What a sampler does on a trained model: single pairs in full, an epoch in numbers, what it costs, and the report."""
