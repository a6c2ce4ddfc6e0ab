// The start of `bridge`. All the rest is a library, which `plugboard` holds as well.

import BridgePlugin

await BridgeProgram.run()
