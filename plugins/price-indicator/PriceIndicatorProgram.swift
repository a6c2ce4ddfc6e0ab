// price-indicator: observes `cart.items`, publishes the total in `cart.summary`, and prints it
// on the terminal.
//
//   cart.items   = [{"sku":"B07","title":"Phone","price":49.95,"quantity":2}]
//   cart.summary = {"items":2,"total":99.90}
//
// The total is exact, because prices are added as decimal numbers. It exists only while this
// program runs: without the program nobody would update it when the cart changes.

import PlugboardClient

/// The whole plugin.
public enum PriceIndicatorProgram {
    /// Runs it to its end, with the process's command line.
    @MainActor
    public static func run() async {
        await Plugin.run(arguments) { bus in
            var indicator = PriceIndicator(bus: bus)
            // Later phases get the cart only after its price is published.
            let options = SubscribeOptions(phase: 1, acknowledges: true)
            let carts = try await bus.subscribe("cart.items", options: options)
            try await carts.forEach { event in await indicator.take(event) }
        }
        Console.endStatus()
    }

    private static let arguments = PluginArguments.read(
        "price-indicator",
        """
        publishes and shows the cart's total

        Observes cart.items and publishes cart.summary {"items":…,"total":…}: the number of
        pieces, and their exact price with two decimals. Without a cart there is no summary. When
        this program's connection ends, the broker deletes the summary.
        """
    )
}
