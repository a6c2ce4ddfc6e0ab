// The start of `dashboard`. All the rest is a library, which `plugboard` holds as well.

import DashboardPlugin

await DashboardProgram.run()
