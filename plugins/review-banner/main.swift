// review-banner: tells of reviews that are new since the user last looked.
//
//   screen           = {"name":"list"} or {"name":"detail","sku":"B07"}
//   reviews.B07      = {"rating":3.9,"count":14}
//   indicator.B07    = {"new":2}                             on the list screen
//   banner           = {"sku":"B07","text":"2 new reviews …"}  on B07's detail screen
//
// A product was seen when a screen that shows it (the list shows all, a detail screen its
// own) gives way to another screen. Then indicators and banner are deleted.

import PlugboardClient

let arguments = PluginArguments.read(
    "review-banner",
    """
    tells of new reviews, on the list and on a product's own screen

    Observes reviews.<sku> and screen. On the list screen a product with more reviews than
    when it was last seen gets indicator.<sku> {"new":…}; on its detail screen it gets
    banner {"sku":…,"text":…} instead. Both go when another screen comes.
    """
)

await Plugin.run(arguments) { bus in
    let presenter = NewsPresenter(bus: bus)
    // Behind the prices, ahead of the logger.
    let options = SubscribeOptions(phase: 3, acknowledges: true)
    let patterns = ["reviews.**", "screen", "indicator.*", "banner"]
    let events = try await bus.subscribe(patterns, options: options)
    var news = ReviewNews()
    try await events.forEach { event in await presenter.show(news.take(event)) }
}
