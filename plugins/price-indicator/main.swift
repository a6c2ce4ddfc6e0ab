print("price-indicator")
