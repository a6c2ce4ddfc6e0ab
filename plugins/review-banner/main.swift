// review-banner: announces reviews that are new since the user last looked.
//
//   screen           = {"name":"list"} or {"name":"detail","sku":"B07"}
//   reviews.B07      = {"rating":3.9,"count":14}
//   indicator.B07    = {"new":2}                             on the list screen
//   banner           = {"sku":"B07","text":"2 new reviews …"}  on B07's detail screen
//
// A product counts as seen when a screen that showed it is replaced by another screen. (The
// list shows all products, a detail screen one.) Then indicators and banner are deleted.

import PlugboardClient

let arguments = PluginArguments.read(
    "review-banner",
    """
    announces new reviews, on the list and on a product's own screen

    Observes reviews.<sku> and screen. If a product has more reviews than when it was last
    seen, it gets indicator.<sku> {"new":…} on the list screen, and banner {"sku":…,"text":…}
    on its detail screen. Both are deleted when another screen comes.
    """
)

await Plugin.run(arguments) { bus in
    let presenter = NewsPresenter(bus: bus)
    // After the prices, before the logger.
    let options = SubscribeOptions(phase: 3, acknowledges: true)
    let patterns = ["reviews.**", "screen", "indicator.*", "banner"]
    let events = try await bus.subscribe(patterns, options: options)
    var news = ReviewNews()
    try await events.forEach { event in await presenter.show(news.take(event)) }
}
