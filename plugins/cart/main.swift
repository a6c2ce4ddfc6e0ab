print("cart")
