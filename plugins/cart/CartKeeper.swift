// Between the cart and the bus: changes what is there, and publishes it only where nobody
// else changed it meanwhile. Commands are carried out one at a time. What is known of the
// cart only saves reading it: nothing is answered from it that isn't so on the bus.

import PlugboardClient

/// Carries out commands on `cart.items`.
struct CartKeeper {
    private static let key = "cart.items"
    /// How often to start again when someone else writes `cart.items` at the same moment.
    private static let attempts = 10

    let bus: Bus
    private var known: KnownCart?

    init(bus: Bus) {
        self.bus = bus
    }

    /// Puts an empty cart on the bus where there is none.
    mutating func begin() async {
        known = nil
        do {
            let revision = try await bus.publish(Self.key, Cart().json, ifRevision: 0)
            keep(Cart(), revision)
        } catch let error as BusError where error.isConflict {
            // There is one: that is what the cart starts from.
        } catch {
            Console.warn("\(Self.key): \(error)")
        }
    }

    /// Carries out one command; tells the bus where that can't be done.
    mutating func carryOut(_ event: Event) async {
        do {
            let command = try CartCommand(key: event.key, value: event.value)
            try await carryOut(command)
        } catch let rejection as Rejection {
            await reject(rejection, event)
        } catch {
            Console.warn("\(event.key) by \(event.by ?? "someone"): \(error)")
        }
    }

    /// A command that was published stays on the bus, and would be there for every later
    /// observer; it is to be emitted.
    func refusePublished(_ event: Event) async {
        let sku = event.value?["sku"]?.string
        await reject(Rejection(sku: sku, .badRequest, "commands are emitted, not published"), event)
    }

    private mutating func carryOut(_ command: CartCommand) async throws {
        switch command {
        case .clear: keep(Cart(), try await bus.publish(Self.key, Cart().json))
        case .remove(let sku): try await change(sku) { cart throws(Rejection) in try cart.remove(sku: sku) }
        case .add(let sku, let quantity):
            let product = try await product(sku)
            try await change(sku) { cart throws(Rejection) in try cart.add(product, quantity: quantity) }
        }
    }

    private func product(_ sku: String) async throws -> Product {
        do {
            guard let entry = try await bus.entry("catalog.\(sku)") else {
                throw Rejection(sku: sku, .unknownProduct, "there is no catalog.\(sku)")
            }
            return try Product(sku: sku, catalogue: entry.value)
        } catch let error as BusError where error.code == .badKey {
            throw Rejection(sku: sku, .badRequest, "\(error)")
        }
    }

    /// Changes the cart and publishes it if it is still the one that was changed.
    private mutating func change(
        _ sku: String,
        _ body: (inout Cart) throws(Rejection) -> Void
    ) async throws {
        for _ in 0..<Self.attempts {
            var (cart, revision) = try await current(sku)
            do throws(Rejection) {
                try body(&cart)
            } catch {
                guard try await isCurrent(revision) else { continue }
                throw error
            }
            if try await publish(cart, after: revision, sku) { return }
        }
        throw Rejection(sku: sku, .badRequest, "others keep changing \(Self.key)")
    }

    /// The cart to be changed, and its revision: the known one, or else what is on the bus.
    private mutating func current(_ sku: String) async throws -> (Cart, Int) {
        if let known, known.epoch == bus.greeting?.epoch { return (known.cart, known.revision) }
        let entry = try await bus.entry(Self.key)
        guard let cart = entry.map({ Cart($0.value) }) ?? Cart() else {
            let advice = "\(Self.key) holds no cart; emit cart.clear to start anew"
            throw Rejection(sku: sku, .badRequest, advice)
        }
        keep(cart, entry?.revision ?? 0)
        return (cart, entry?.revision ?? 0)
    }

    /// Whether the bus still has this revision; if not, the cart is to be read again. Asks
    /// for the revision alone: the cart may be long.
    private mutating func isCurrent(_ revision: Int) async throws -> Bool {
        let isCurrent = try await bus.keys(Self.key).first?.revision ?? 0 == revision
        if !isCurrent { known = nil }
        return isCurrent
    }

    /// False where someone else was faster.
    private mutating func publish(_ cart: Cart, after revision: Int, _ sku: String) async throws -> Bool {
        do {
            keep(cart, try await bus.publish(Self.key, cart.json, ifRevision: revision))
            return true
        } catch let error as BusError where error.isConflict {
            known = nil
            return false
        } catch let error as BusError where error.code != nil {
            throw Rejection(sku: sku, .badRequest, "\(error)")
        }
    }

    private mutating func keep(_ cart: Cart, _ revision: Int) {
        known = KnownCart(cart: cart, revision: revision, epoch: bus.greeting?.epoch)
    }

    private func reject(_ rejection: Rejection, _ event: Event) async {
        let who = event.by ?? "someone"
        Console.say("\(event.key) by \(who) rejected: \(rejection.reason.rawValue), \(rejection.explanation)")
        do {
            try await bus.emit("cart.rejected", rejection.json)
        } catch {
            Console.warn("cart.rejected: \(error)")
        }
    }
}

/// The cart as it was last read or written.
private struct KnownCart {
    let cart: Cart
    let revision: Int
    /// The life of the broker in which that was its revision.
    let epoch: String?
}
