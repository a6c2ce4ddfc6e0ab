// cart: owns `cart.items`, the shopping cart.
//
//   emit cart.add {"sku":"B07","quantity":2}     quantity 1 when left out
//   emit cart.remove {"sku":"B07"}
//   emit cart.clear {}
//
// Emitted, a command is answered by a new `cart.items`, or by `cart.rejected`; called
// (`call cart.clear`), by the cart, or the error that says why not. The cart keeps nothing to
// itself: what the bus holds is what it goes on from, so it can be stopped and started at any
// time. It is an array, which keeps the order; those are only ever published whole, so a
// command sends all lines, but reads and writes its own.

import PlugboardClient

let arguments = PluginArguments.read(
    "cart",
    """
    keeps the shopping cart in cart.items

    Takes cart.add {"sku":…,"quantity":…}, cart.remove {"sku":…} and cart.clear as emitted
    events, and as calls, which are answered with the cart. Looks products up at catalog.<sku>; a line of the cart has the title and the
    price of the last time its product was added. What can't be done is emitted as
    cart.rejected {"sku":…,"reason":"unknown_product"|"not_for_sale"|"bad_request"}.
    """
)

await Plugin.run(arguments) { bus in
    let keeper = CartKeeper(bus: bus)
    let names = ["cart.add", "cart.remove", "cart.clear"]
    var servings: [any Sendable] = []
    for name in names {
        do {
            servings.append(try await bus.serve(name) { (call: Call) in try await keeper.answer(call) })
        } catch let error as BusError where error.isConflict {
            Console.warn("\(error)")  // What is emitted is still carried out.
        }
    }
    let commands = try await bus.subscribe(names)
    try await commands.forEach { event in
        switch event.kind {
        case .synced: await keeper.begin()
        case .emit: await keeper.carryOut(event)
        case .update where !event.isInitial: await keeper.refusePublished(event)
        case .update, .delete, .leave, .lagged: break
        }
    }
    withExtendedLifetime(servings) {}
}
