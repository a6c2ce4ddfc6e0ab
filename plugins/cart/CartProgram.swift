// cart: owns `cart.items`, the shopping cart.
//
//   emit cart.add {"sku":"B07","quantity":2}     quantity 1 when left out
//   emit cart.remove {"sku":"B07"}
//   emit cart.clear {}
//
// The answer to an emitted command is a new `cart.items`, or `cart.rejected`. The answer to a call
// is {"sku":"B07","quantity":2,"lines":1} (of `cart.clear`: {"lines":0}), or an error that says why
// not. The plugin keeps no state of its own: it continues from what the bus holds, so you can stop
// and start it at any time. The cart is an array, which keeps the order. Each command sends only
// the line that it changes.

import PlugboardClient

/// The whole plugin.
public enum CartProgram {
    /// Runs it to its end, with the process's command line.
    @MainActor
    public static func run() async {
        await Plugin.run(arguments) { bus in
            let keeper = CartKeeper(bus: bus)
            let names = ["cart.add", "cart.remove", "cart.clear"]
            var servings: [any Sendable] = []
            for name in names {
                do {
                    servings.append(
                        try await bus.serve(name) { (call: Call) in try await keeper.answer(call) }
                    )
                } catch let error as BusError where error.isConflict {
                    Console.warn("\(error)")  // Emitted commands are still carried out.
                }
            }
            // Emitted and called commands are carried out in the order in which they came.
            let commands = try await bus.subscribe(inOrder: names) { event in
                switch event.kind {
                case .synced: await keeper.begin()
                case .emit: await keeper.carryOut(event)
                case .update where !event.isInitial: await keeper.refusePublished(event)
                case .update, .delete, .leave, .lagged: break
                }
            }
            await bus.waitUntilStopped()
            withExtendedLifetime((servings, commands)) {}
        }
    }

    private static let arguments = PluginArguments.read(
        "cart",
        """
        keeps the shopping cart in cart.items

        Takes cart.add {"sku":…,"quantity":…}, cart.remove {"sku":…} and cart.clear as emitted
        events and as calls. It answers a call with the product, how many pieces of it the cart
        has now, and how many lines: {"sku":…,"quantity":…,"lines":…}. It looks products up at
        catalog.<sku>. A line of the cart has the title and the price that its product had when
        it was last added. If a command can't be done, the plugin emits
        cart.rejected {"sku":…,"reason":"unknown_product"|"not_for_sale"|"bad_request"}.
        """
    )
}
