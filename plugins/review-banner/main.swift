print("review-banner")
