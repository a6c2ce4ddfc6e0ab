// The start of `price-indicator`. All the rest is a library, which `plugboard` holds as well.

import PriceIndicatorPlugin

await PriceIndicatorProgram.run()
