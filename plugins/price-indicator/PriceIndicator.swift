// Connects the summary with the bus. Invariant: `cart.summary` fits the present
// `cart.items`. If the cart is missing or unreadable, or this program isn't running, there
// is no summary rather than a wrong one.

import PlugboardClient

/// Keeps `cart.summary` up to date with `cart.items`.
struct PriceIndicator {
    private static let key = "cart.summary"

    let bus: Bus
    /// Whether there was a cart since the subscription began.
    private var hasCart = false
    /// The summary of the present cart; nil if there is none.
    private var summary: Summary?
    private var sum = CartSum()

    init(bus: Bus) {
        self.bus = bus
    }

    mutating func take(_ event: Event) async {
        switch event.kind {
        case .update: await show(event)
        case .delete, .leave: await withdraw()
        case .synced where !hasCart: await withdraw()
        // The last connection has taken the summary with it, and the cart may not have changed since.
        case .synced where event.isMissed: await publish()
        case .synced, .emit, .lagged: break
        }
    }

    private mutating func show(_ event: Event) async {
        hasCart = true
        guard let summary = event.value.flatMap({ sum.summary(of: $0) }) else {
            Console.warn("\(event.key) by \(event.by ?? "someone") is not a cart that can be added up")
            return await withdraw()
        }
        self.summary = summary
        Console.status(summary.text)
        await publish()
    }

    private func publish() async {
        guard let summary else { return }
        do {
            try await bus.publish(Self.key, summary.json, while: .connected)
        } catch {
            Console.warn("\(Self.key): \(error)")
        }
    }

    private mutating func withdraw() async {
        (hasCart, summary) = (false, nil)
        do {
            try await bus.delete(Self.key)
            Console.status("no cart")
        } catch let error as BusError where error.code == .notFound {
            // There was no summary.
        } catch {
            Console.warn("\(Self.key): \(error)")
        }
    }
}
