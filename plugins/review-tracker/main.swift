print("review-tracker")
