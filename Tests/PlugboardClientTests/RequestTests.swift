// Every request to a real broker.

import Foundation
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardClient

@Suite("requests", .someAtATime)
struct RequestTests {
    struct Product: Codable, Equatable {
        var title: String
        var price: Double?
    }

    @Test("what is published is what another client gets, with its revision and writer")
    func publishAndGet() async throws {
        let broker = try await TestBroker()
        let writer = try await broker.connect("shop")
        let reader = try await broker.connect()
        let product = Product(title: "Phone \"5\" \u{1F4F1}", price: 49.95)
        let revision = try await writer.publish("catalog.a", product)
        #expect(revision == 1)
        let entry = try #require(try await reader.entry("catalog.a"))
        #expect(entry.revision == 1)
        #expect(entry.by == "shop")
        #expect(try entry.decode(as: Product.self) == product)
        #expect(try await reader.get("catalog.a", as: Product.self) == product)
    }

    @Test("raw JSON passes byte for byte")
    func rawJSON() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let text = #"{"total":1000.00,"big":12345678901234567890123,"b":1,"a":[1e2, 2]}"#
        try await bus.publish("total", JSON(text))
        #expect(try await bus.get("total", as: JSON.self)?.text == text)
    }

    @Test(
        "the longest value is sent, the broker refuses a longer one, and one above the longest line is refused at once"
    )
    func longestLine() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let room = Limits.valueBytesMax - 2
        try await bus.publish("k", String(repeating: "x", count: room))
        let longer = await #expect(throws: BusError.self) {
            try await bus.publish("k", String(repeating: "x", count: room + 1))
        }
        #expect(longer?.code == .limit)
        let tooLong = String(repeating: "x", count: Limits.lineBytesMax)
        let error = await #expect(throws: BusError.self) { try await bus.publish("k", tooLong) }
        #expect(error?.code == .tooLong)
        let pipelined = #expect(throws: BusError.self) { try bus.pipeline.publish("k", tooLong) }
        #expect(pipelined?.code == .tooLong)
        #expect(try await bus.get("k", as: String.self)?.utf8.count == room)
    }

    @Test("JSON that was put together and is nested too deep is refused at once, also in a batch")
    func tooDeep() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let deepest = (0..<Limits.depthMax).reduce(JSON.null) { value, _ in .array([value]) }
        try await bus.publish("k", deepest, timeout: HangGuard.duration)
        let writes = [try Write.publish("a", 1), try .publish("b", JSON.array([deepest]))]
        for error in [
            await #expect(throws: BusError.self) {
                try await bus.publish("k", JSON.array([deepest]), timeout: HangGuard.duration)
            },
            await #expect(throws: BusError.self) { try await bus.batch(writes, timeout: HangGuard.duration) },
        ] {
            #expect(error?.code == "too_deep")
        }
        #expect(try await bus.get("k", as: JSON.self) == deepest)
    }

    @Test("an absent key is nil, and deleting it is refused with the broker's code")
    func absent() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        #expect(try await bus.get("nothing", as: Int.self) == nil)
        let error = await #expect(throws: BusError.self) { try await bus.delete("nothing") }
        #expect(error?.code == .notFound)
    }

    @Test("a refusal carries code, message, hint and the key's revision")
    func refusal() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        try await bus.publish("key", 1)
        try await bus.publish("key", 2)
        let error = await #expect(throws: BusError.self) { try await bus.publish("key", 3, ifRevision: 1) }
        guard case .refused(let code, let message, let hint, let revision)? = error else {
            throw NeverHappened(description: "\(String(describing: error)) is no refusal")
        }
        #expect(code == .conflict)
        #expect(!message.isEmpty)
        #expect(hint?.isEmpty == false)
        #expect(revision == 2)
        #expect(try await bus.publish("key", 3, ifRevision: 2) == 3)
    }

    @Test("a patch merges, an emit keeps nothing, a batch is one revision")
    func otherWrites() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        try await bus.publish("product", Product(title: "A", price: 1))
        try await bus.patch("product", ["title": "B"])
        #expect(try await bus.get("product", as: Product.self) == Product(title: "B", price: 1))
        #expect(try await bus.emit("ping", true) == 2)
        #expect(try await bus.get("ping", as: Bool.self) == nil)
        let revision = try await bus.batch { batch in
            try batch.publish("a", 1)
            try batch.publish("b", 2)
            try batch.delete("product")
        }
        #expect(revision == 3)
        #expect(try await bus.batch([.publish("c", JSON("3")), .emit("d", 4)]) == 4)
        #expect(try await bus.keys().map(\.key) == ["a", "b", "c"])
    }

    @Test("numbers are added in one step, exactly, and the sum is returned")
    func additions() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let sums = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<20 { group.addTask { try await bus.add("visits", 1) } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(sums == Set(1...20))
        let sum: Decimal = try await bus.add("cart", Decimal(string: "0.1") ?? 0, field: "/total")
        #expect(try await bus.add("cart", Decimal(string: "0.2") ?? 0, field: "/total") == sum * 3)
        try await bus.batch([.add("visits", -20), .add("cart", 1.5, field: "/items", cause: 1)])
        #expect(try await bus.get("visits", as: Int.self) == 0)
        #expect(try await bus.entry("cart")?.value == JSON(#"{"total":0.3,"items":1.5}"#))
        await #expect { try await bus.add("cart", 1) } throws: { ($0 as? BusError)?.code == .conflict }
    }

    @Test("a patch changes, adds and removes single elements of an array")
    func elements() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        try await bus.publish("list", JSON(#"[{"n":1},{"n":2}]"#))
        try await bus.patch("list", ["n": 3], field: "/1")
        let revision = try await bus.patch("list", ["n": 4], field: "/-")
        try await bus.patch("list", JSON.null, field: "/0", ifRevision: revision)
        #expect(try await bus.entry("list")?.value == JSON(#"[{"n":3},{"n":4}]"#))
        try await bus.batch { batch in try batch.patch("list", 5, field: "/0/n") }
        #expect(try await bus.entry("list")?.value == JSON(#"[{"n":5},{"n":4}]"#))
        await #expect {
            try await bus.patch("list", 1, field: "/7")
        } throws: {
            ($0 as? BusError)?.code == .conflict
        }
    }

    @Test("keys come from all pages, in order")
    func pages() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        for number in 0..<2_345 { try bus.pipeline.publish("key.\(number)", number) }
        let keys = try await bus.keys("key.*").map(\.key)
        #expect(keys.count == 2_345)
        #expect(keys == keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
        #expect(Set(keys).count == 2_345)
    }

    @Test("a cause is passed on")
    func cause() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        try await bus.publish("effect", 1, cause: 42)
        #expect(try await bus.entry("effect")?.cause == 42)
    }

    @Test("one task's writes arrive in the order of its calls, both awaited and pipelined ones")
    func order() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let other = try await broker.connect()
        let heard = Log<Int>()
        let observation = try await other.subscribe("n") { event in
            if let number = try? event.decode(as: Int.self) { heard.add(number) }
        }
        for number in 0..<300 {
            if number % 3 == 0 {
                try await bus.publish("n", number)
            } else {
                try bus.pipeline.publish("n", number)
            }
        }
        try await bus.sync()
        try await other.sync()
        #expect(heard.all == Array(0..<300))
        observation.dispose()
    }

    @Test("a refused pipelined write is a fault")
    func fault() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        let faults = Log<Fault>()
        let observation = bus.onFault { faults.add($0) }
        try bus.pipeline.publish("no key", 1)
        try await bus.sync()
        #expect(faults.all.map(\.error.code) == [.badKey])
        observation.dispose()
    }

    @Test("a thousand requests at the same time all get their own answers")
    func concurrency() async throws {
        let broker = try await TestBroker()
        let bus = try await broker.connect()
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<1_000 {
                group.addTask {
                    try await bus.publish("key.\(number)", number)
                    return try await bus.get("key.\(number)", as: Int.self) == number
                }
            }
            for try await isRight in group { #expect(isRight) }
        }
    }
}
