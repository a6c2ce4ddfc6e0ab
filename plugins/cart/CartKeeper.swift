// Between the cart and the bus: reads what is there, changes it, and publishes it only
// where nobody else changed it meanwhile. Commands are carried out one at a time.

import PlugboardClient

/// Carries out commands on `cart.items`.
struct CartKeeper {
    private static let key = "cart.items"
    /// How often to start again when someone else writes `cart.items` at the same moment.
    private static let attempts = 10

    let bus: Bus

    /// Puts an empty cart on the bus where there is none.
    func begin() async {
        do {
            try await bus.publish(Self.key, Cart().json, ifRevision: 0)
        } catch let error as BusError where error.isConflict {
            // There is one: that is what the cart starts from.
        } catch {
            Console.warn("\(Self.key): \(error)")
        }
    }

    /// Carries out one command; tells the bus where that can't be done.
    func carryOut(_ event: Event) async {
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

    private func carryOut(_ command: CartCommand) async throws {
        switch command {
        case .clear: try await bus.publish(Self.key, Cart().json)
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

    /// Reads the cart, changes it, and publishes it if it is still the one that was read.
    private func change(_ sku: String, _ body: (inout Cart) throws(Rejection) -> Void) async throws {
        for _ in 0..<Self.attempts {
            let entry = try await bus.entry(Self.key)
            guard var cart = entry.map({ Cart($0.value) }) ?? Cart() else {
                let advice = "\(Self.key) holds no cart; emit cart.clear to start anew"
                throw Rejection(sku: sku, .badRequest, advice)
            }
            try body(&cart)
            if try await publish(cart, after: entry?.revision ?? 0, sku) { return }
        }
        throw Rejection(sku: sku, .badRequest, "others keep changing \(Self.key)")
    }

    /// False where someone else was faster.
    private func publish(_ cart: Cart, after revision: Int, _ sku: String) async throws -> Bool {
        do {
            try await bus.publish(Self.key, cart.json, ifRevision: revision)
            return true
        } catch let error as BusError where error.isConflict {
            return false
        } catch let error as BusError where error.code != nil {
            throw Rejection(sku: sku, .badRequest, "\(error)")
        }
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
