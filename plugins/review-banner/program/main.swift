// The start of `review-banner`. All the rest is a library, which `plugboard` holds as well.

import ReviewBannerPlugin

await ReviewBannerProgram.run()
