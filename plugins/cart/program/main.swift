// The start of `cart`. All the rest is a library, which `plugboard` holds as well.

import CartPlugin

await CartProgram.run()
