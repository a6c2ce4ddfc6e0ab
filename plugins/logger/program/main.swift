// The start of `logger`. All the rest is a library, which `plugboard` holds as well.

import LoggerPlugin

await LoggerProgram.run()
