"""Which heads go and what stays: L0 gates, lottery tickets, and the scorers and ranking behind them."""
