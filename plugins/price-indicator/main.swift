// price-indicator: observes `cart.items` and says what it comes to, in `cart.summary` and
// on a line of the terminal.
//
//   cart.items   = [{"sku":"B07","title":"Phone","price":49.95,"quantity":2}]
//   cart.summary = {"items":2,"total":99.90}
//
// The total is exact: prices are counted as the decimal numbers they are written as. It is
// there only while this program is: nobody would keep it in step with the cart otherwise.

import PlugboardClient

let arguments = PluginArguments.read(
    "price-indicator",
    """
    publishes and shows the cart's total

    Observes cart.items and publishes cart.summary {"items":…,"total":…}: the number of
    pieces, and their exact price with two decimals. Without a cart there is no summary, nor
    without this program: the broker deletes it when the connection ends.
    """
)

await Plugin.run(arguments) { bus in
    var indicator = PriceIndicator(bus: bus)
    // Others hear of a cart when its price stands.
    let options = SubscribeOptions(phase: 1, acknowledges: true)
    let carts = try await bus.subscribe("cart.items", options: options)
    try await carts.forEach { event in await indicator.take(event) }
}
Console.endStatus()
