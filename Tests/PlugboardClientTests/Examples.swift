// The examples of the library's documentation, word for word, so that they compile. Those
// that end by themselves are run. `ExampleTests` compares them with the sources.

import Observation
import PlugboardClient
import Synchronization

struct Review: Codable {
    var rating: Double
}

nonisolated struct AddToCart: Codable {
    var quantity: Int
}

struct NewsOfExample {
    private(set) var text = ""
    mutating func note(_ event: Event) { text += event.key }
}

actor CartOfExample {
    private(set) var values: [JSON] = []
    func add(_ value: JSON) { values.append(value) }
}

enum Examples {
    static func publish(_ bus: Bus) async throws {
        let revision = try await bus.publish("cart.summary", ["items": 3])
        try await bus.publish("cart.summary", JSON(#"{"total":1000.00}"#), ifRevision: revision)
        try await bus.publish("till.open", true, while: .connected)
        try await bus.publish("till.hint", "paper is low", ttl: .seconds(20))
    }

    static func json(_ bus: Bus) async throws {
        try await bus.publish("cart.total", JSON("1000.00"))
        try await bus.patch("cart.items", ["quantity": 3], field: "/17")
        let visits = try await bus.add("visits", 1)
        print(visits)
    }

    static func batch(_ bus: Bus) async throws {
        try await bus.batch { batch in
            try batch.publish("banner", ["text": "2 new reviews"])
            try batch.delete("indicator.B07")
        }
    }

    static func writes(_ bus: Bus) async throws {
        try await bus.batch([
            .publish("cart.items", [String]()),
            .delete("banner"),
        ])
    }

    static func pipeline(_ bus: Bus) async throws {
        for number in 1...100_000 {
            try bus.pipeline.publish("counter", number)
            if number % 1_000 == 0 { try await bus.pipeline.room() }
        }
        try await bus.sync()
    }

    static func values(_ bus: Bus) async throws {
        for try await (key, review) in bus.values("reviews.*", as: Review.self) {
            print(key, review.rating)
        }
    }

    static func observable(_ bus: Bus) async throws {
        // let total = ObservableValue(0.0)                          // in this process
        let total = bus.observable("cart.total", default: 0.0)  // on the bus
        try await total.ready()
        let observation = total.observe { change in print(change.old ?? 0, "→", change.new) }
        total.value = 42.5
        total.update { $0 += 1 }
        try await bus.sync()
        observation.dispose()
    }

    @MainActor static func show(_ bus: Bus) {
        let price = bus.observed("price", default: 0.0)
        withObservationTracking {
            print(price.isLive ? "\(price.value)" : "\(price.value), perhaps no longer")
        } onChange: {
            print("there is news")
        }
        price.value = 49.9  // publishes it
    }

    static func callback(_ bus: Bus) async throws {
        let observation = try await bus.subscribe("cart.items") { event in
            print(event.key, event.revision)
        }
        observation.dispose()
    }

    static func updates(_ bus: Bus) async throws {
        for try await update in try await bus.subscribe("people.*").updates(as: String.self) {
            print(update.key, update.value)
        }
    }

    static func sequence(_ bus: Bus) async throws {
        let reviews = try await bus.subscribe("reviews.**")
        for try await event in reviews {
            switch event.kind {
            case .update: print(event.key, try event.decode(as: Review.self).rating)
            case .delete: print(event.key, "is gone")
            case .synced: print("that was all there is; from here on it is live")
            case .emit, .leave, .lagged: break
            }
        }
    }

    static func causing(_ bus: Bus) async throws {
        for try await event in try await bus.subscribe("cart.items") {
            try await event.causing { try await bus.publish("cart.seen", true) }
        }
    }

    static func forEach(_ bus: Bus) async throws {
        try await bus.subscribe("cart.items").forEach { event in
            try await bus.publish("cart.seen", true)
        }
    }

    static func asking() {
        let bargains = SubscribeOptions(
            where: [Part("/price") < 100, Part("/brand").isOne(of: ["Nokia", "Siemens"])],
            fields: ["/price", "/stock"]
        )
        print(bargains)
    }

    static func conditions() {
        let options = SubscribeOptions(where: [
            Part("/price") >= 50, Part("/price") < 100, Part("/title").hasPrefix("Nokia"),
            Part("/discontinued").isAbsent,
        ])
        print(options)
    }

    static func lifetimes(_ bus: Bus) async throws -> Disposable {
        try await bus.setWill(.publish("till.state", "lost"))
        let presence = try await bus.announce("tills.3", ["since": "09:00"])
        return presence
    }

    static func insight(_ bus: Bus) async throws -> [Audience.Observer] {
        for step in try await bus.why("cart.summary").steps {
            print(step.key, step.revision, step.by)
        }
        let outcome = try await bus.explain(.publish("seat.12", "bob", ifRevision: 0))
        print(outcome.refusal.map { "\($0)" } ?? "\(outcome.observers.count) would be told")
        let behind = try await bus.who("cart.summary").observers.filter { $0.state != .live }
        return behind
    }

    static func trace(_ bus: Bus) async throws -> Disposable {
        let tracing = try await bus.trace("cart.**") { trace in
            print(trace.key, trace.by, trace.observers.filter { $0.outcome != .sent }.map(\.name))
        }
        return tracing
    }

    static func call(_ bus: Bus) async throws -> Int {
        let items: Int = try await bus.call("cart.add", ["sku": "B07"], timeout: .seconds(2))
        return items
    }

    static func serve(_ bus: Bus) async throws -> Disposable {
        let serving = try await bus.serve("cart.add") { (request: AddToCart) async throws -> Int in
            if request.quantity > 9 { throw CallError("too_many", "nine at most") }
            return request.quantity
        }
        return serving
    }

    static func serveConcurrently(_ bus: Bus) async throws -> Disposable {
        let serving = try await bus.serve(concurrently: "covers.find") {
            (sku: String) async throws -> JSON? in
            try await bus.call("covers.load", sku)
        }
        return serving
    }

    static func subscribeInOrder(_ bus: Bus, _ cart: CartOfExample) async throws -> Disposable {
        let adding = try await bus.subscribe(inOrder: ["cart.add"]) { event in
            if let value = event.value { await cart.add(value) }
        }
        return adding
    }

    static func place(_ bus: Bus) async throws {
        var kept = Place.beginning
        let options = SubscribeOptions(delivery: .all, since: kept)
        for try await event in try await bus.subscribe("cart.**", options: options) {
            print(event.key, event.isMissed ? "happened meanwhile" : "")
            kept = event.place
        }
    }

    static func groups(_ bus: Bus, _ news: inout NewsOfExample) async throws {
        try await bus.subscribe(["screen", "reviews.*"]).forEachGroup { events in
            for event in events { news.note(event) }
            try await bus.publish("banner", news.text)
        }
    }

    static func connect() async throws {
        let bus = try await Bus.connect(name: "greeter")
        try await bus.publish("greeting", "hello")
        for try await event in try await bus.subscribe("people.**") where event.kind == .update {
            print(event.key, try event.decode(as: String.self))
        }
    }

    static func parts() throws -> JSON {
        let product = try JSON(#"{"title":"Phone","price":49.90}"#)
        print(product["price"]?.text ?? "not for sale")  // 49.90
        let price = ExactDecimal("0.10")
        let total = price?.multiplied(by: 10_000)
        print(total?.text(decimals: 2) ?? "too large")  // 1000.00
        return
            JSON.object(["sku": .string("B07"), "quantity": .integer(2)])
    }

    static func arguments() async {
        let file = PluginOption.text("file", "PATH", "where to write")
        let arguments = PluginArguments.read("logger", "writes down what happens", options: [file])
        await Plugin.run(arguments) { bus in
            print(arguments.text(file) ?? "no file")
        }
    }

    static func option() -> PluginOption {
        let keep = PluginOption.integer("keep", "N", 1...100, "how many old files to keep (4)")
        return keep
    }

    static func service() async throws {
        let greeter = Plugin(name: "greeter") { bus in
            for try await event in try await bus.subscribe("people.*") where event.kind == .update {
                try await bus.publish("greetings.\(event.key)", "hello")
            }
        }
        try await greeter.run()
    }

    static func plugin() async {
        await Plugin.run(name: "greeter") { bus in
            for try await event in try await bus.subscribe("people.*") where event.kind == .update {
                try await bus.publish("greetings.\(event.key)", "hello")
            }
        }
    }

    static func health(_ bus: Bus) {
        bus.health(.degraded, "no answer from the till", counts: ["unsent": 3])
        bus.health(.well)
    }

    nonisolated static let log = Mutex(ReopenedLog())

    static func hangUp() {
        Plugin.onHangUp { log.withLock { $0.reopen() } }
    }
}

nonisolated struct ReopenedLog { mutating func reopen() {} }
