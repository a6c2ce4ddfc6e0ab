// review-banner: announces reviews that are new since the user last looked.
//
//   screen           = {"name":"list"} or {"name":"detail","sku":"B07"}
//   reviews.B07      = {"rating":3.9,"count":14}
//   indicator.B07    = {"new":2}                             on the list screen
//   banner           = {"sku":"B07","text":"2 new reviews …"}  on B07's detail screen
//   seen.B07         = 12                                    reviews that were seen
//
// News count as seen when another screen replaces one that showed them. (The list shows all
// products.) Indicators and banner end with this program's connection, and come back with the
// next one, because `seen.<sku>` stays.

import PlugboardClient

/// The whole plugin.
public enum ReviewBannerProgram {
    /// Runs it to its end, with the process's command line.
    @MainActor
    public static func run() async {
        await Plugin.run(arguments) { bus in
            let presenter = NewsPresenter(bus: bus)
            // After the prices, before the logger.
            let options = SubscribeOptions(phase: 3, acknowledges: true)
            let patterns = ["reviews.**", "screen", "indicator.*", "banner", "seen.*"]
            let events = try await bus.subscribe(patterns, options: options)
            var news = ReviewNews(writer: bus.greeting?.name ?? arguments.name)
            try await events.forEachGroup { events in news.forget(await presenter.show(news.take(events))) }
        }
    }

    private static let arguments = PluginArguments.read(
        "review-banner",
        """
        announces new reviews, on the list and on a product's own screen

        Observes reviews.<sku> and screen. If a product has more reviews than when it was last
        seen, it gets indicator.<sku> {"new":…} on the list screen, and banner {"sku":…,"text":…}
        on its detail screen. Both are deleted when another screen comes, or when this program's
        connection ends. seen.<sku> keeps the number of reviews that were seen, for the next start.
        """
    )
}
