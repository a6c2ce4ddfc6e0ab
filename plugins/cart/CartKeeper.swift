// Connects the cart with the bus. It changes the cart only if nobody else changed it in the meantime, and sends
// only the line that changed. The bus hands it one command at a time, emitted or called. It remembers the cart
// only to avoid reading it again: before it answers, it makes sure that the bus has the same cart.

import PlugboardClient

/// Carries out commands on `cart.items`.
actor CartKeeper {
    private static let key = "cart.items"
    /// How often to start again if another client writes `cart.items` at the same moment.
    private static let attempts = 10

    let bus: Bus
    private var known: KnownCart?

    init(bus: Bus) {
        self.bus = bus
    }

    /// Publishes an empty cart if there is none.
    func begin() async {
        known = nil
        do {
            let revision = try await bus.publish(Self.key, Cart().json, ifRevision: 0)
            keep(Cart(), revision)
        } catch let error as BusError where error.isConflict {
            // There is a cart already, so it starts from that one.
        } catch {
            Console.warn("\(Self.key): \(error)")
        }
    }

    /// Carries out one command. If that fails, it emits `cart.rejected`.
    func carryOut(_ event: Event) async {
        switch await outcome(event.key, event.value) {
        case .success: break
        case .failure(let rejection as Rejection): await reject(rejection, event)
        case .failure(let error): Console.warn("\(event.key) by \(event.by ?? "someone"): \(error)")
        }
    }

    /// The same for a call. The answer is what has become of the line, or the reason for the refusal.
    func answer(_ call: Call) async throws -> JSON {
        switch await outcome(call.key, call.value) {
        case .success(let answer): return answer
        case .failure(let rejection as Rejection):
            throw CallError(BusError.Code(rawValue: rejection.reason.rawValue), rejection.explanation)
        case .failure(let error): throw error
        }
    }

    private func outcome(_ key: String, _ value: JSON?) async -> Result<JSON, any Error> {
        do {
            return .success(try await carryOut(try CartCommand(key: key, value: value)))
        } catch {
            return .failure(error)
        }
    }

    /// Refuses a command that was published. It would stay on the bus for every later observer, so
    /// commands must be emitted.
    func refusePublished(_ event: Event) async {
        let sku = event.value?["sku"]?.string
        await reject(Rejection(sku: sku, .badRequest, "commands are emitted, not published"), event)
    }

    private func carryOut(_ command: CartCommand) async throws -> JSON {
        switch command {
        case .clear:
            keep(Cart(), try await bus.publish(Self.key, Cart().json))
            return .object(["lines": .integer(0)])
        case .remove(let sku):
            let cart = try await change(sku) { cart throws(Rejection) in try cart.remove(sku: sku) }
            return Self.answer(sku, cart)
        case .add(let sku, let quantity):
            let product = try await product(sku)
            let cart = try await change(sku) { cart throws(Rejection) in
                try cart.add(product, quantity: quantity)
            }
            return Self.answer(sku, cart)
        }
    }

    private static func answer(_ sku: String, _ cart: Cart) -> JSON {
        .object([
            "sku": .string(sku), "quantity": .integer(cart.quantity(of: sku)),
            "lines": .integer(cart.lines.count),
        ])
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

    /// Changes the cart, and publishes it if the bus still has the cart that was changed.
    private func change(
        _ sku: String, _ body: (inout Cart) throws(Rejection) -> LineChange
    ) async throws -> Cart {
        for _ in 0..<Self.attempts {
            var (cart, revision) = try await current(sku)
            let change: LineChange
            do throws(Rejection) {
                change = try body(&cart)
            } catch {
                guard try await isCurrent(revision) else { continue }
                throw error
            }
            if try await publish(change, of: cart, after: revision, sku) { return cart }
        }
        throw Rejection(sku: sku, .badRequest, "others keep changing \(Self.key)")
    }

    /// The cart to change, and its revision: the one that is known, or else the one on the bus.
    private func current(_ sku: String) async throws -> (Cart, Int) {
        if let known, known.epoch == bus.greeting?.epoch { return (known.cart, known.revision) }
        let entry = try await bus.entry(Self.key)
        guard let cart = entry.map({ Cart($0.value) }) ?? Cart() else {
            let advice = "\(Self.key) holds no cart; emit cart.clear to start anew"
            throw Rejection(sku: sku, .badRequest, advice)
        }
        keep(cart, entry?.revision ?? 0)
        return (cart, entry?.revision ?? 0)
    }

    /// Whether the bus still has this revision. If not, the cart must be read again. It only asks
    /// for the revision, because the cart may be long.
    private func isCurrent(_ revision: Int) async throws -> Bool {
        let isCurrent = try await bus.keys(Self.key).first?.revision ?? 0 == revision
        if !isCurrent { known = nil }
        return isCurrent
    }

    /// Returns false if another client was faster.
    private func publish(
        _ change: LineChange, of cart: Cart, after revision: Int, _ sku: String
    ) async throws -> Bool {
        do {
            let written =
                revision == 0
                ? try await bus.publish(Self.key, cart.json, ifRevision: 0)
                : try await bus.patch(Self.key, change.value, field: change.field, ifRevision: revision)
            keep(cart, written)
            return true
        } catch let error as BusError where error.isConflict {
            known = nil
            return false
        } catch let error as BusError where error.code != nil {
            throw Rejection(sku: sku, .badRequest, "\(error)")
        }
    }

    private func keep(_ cart: Cart, _ revision: Int) {
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
    /// The epoch in which the cart had this revision.
    let epoch: String?
}
