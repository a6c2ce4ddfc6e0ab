// The plugins that this program holds. Called by the name of one of them, it is that plugin. So a package has one
// program and links to it, instead of eight programs of which each has the same libraries.

import BridgePlugin
import CartPlugin
import DashboardPlugin
import LoggerPlugin
import PlugboardPosix
import PriceIndicatorPlugin
import ReviewBannerPlugin
import ReviewTrackerPlugin

/// The plugins by their names.
enum HeldPlugins {
    typealias Run = @MainActor @Sendable () async -> Void

    static let all: [String: Run] = [
        "bridge": BridgeProgram.run,
        "cart": CartProgram.run,
        "dashboard": DashboardProgram.run,
        "logger": LoggerProgram.run,
        "price-indicator": PriceIndicatorProgram.run,
        "review-banner": ReviewBannerProgram.run,
        "review-tracker": ReviewTrackerProgram.run,
    ]

    /// The plugin as which this process was started; nil if it is the command.
    static var called: Run? {
        Arguments.all().first?.split(separator: "/").last.flatMap { all[String($0)] }
    }
}
