print("logger")
