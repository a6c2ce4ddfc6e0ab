// The start of `review-tracker`. All the rest is a library, which `plugboard` holds as well.

import ReviewTrackerPlugin

await ReviewTrackerProgram.run()
