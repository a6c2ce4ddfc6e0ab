import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("the nearest keys to one that isn't there", .computing)
struct NearestKeysTests {
    private func hints(_ keys: [String], for wanted: [String]) -> [String] {
        let test = BareHub()
        let client = test.client()
        for key in keys { test.send("publish \(key) 1", from: client) }
        return wanted.map { key in
            test.endTurn()
            let reply = test.send("get \(key)", from: client).first ?? ""
            guard let hint = reply.range(of: #""hint":""#) else { return reply }
            return String(reply[hint.upperBound...].dropLast(2)).replacing("\\\"", with: "'")
        }
    }

    @Test("a letter changed, added, lost or swapped with the next, in any of the tokens")
    func slips() {
        let keys = ["cart.items", "cart.total", "catalog.B0009N5L7K.price", "till"]
        let wanted = [
            "cart.totla", "cart.totel", "cart.tota", "cart.totals", "crat.total", "xart.total",
            "catalog.B0009N5L7K.prise", "catalog.B0009N5L7L.price", "catalogue.B0009N5L7K.price", "tilll",
        ]
        #expect(
            hints(keys, for: wanted)
                == [
                    "did you mean 'cart.total'?", "did you mean 'cart.total'?", "did you mean 'cart.total'?",
                    "did you mean 'cart.total'?", "did you mean 'cart.total'?", "did you mean 'cart.total'?",
                    "did you mean 'catalog.B0009N5L7K.price'?", "did you mean 'catalog.B0009N5L7K.price'?",
                    "did you mean 'catalog.B0009N5L7K.price'?", "did you mean 'till'?",
                ]
        )
    }

    @Test("the nearest comes first, and three are enough")
    func order() {
        let keys = ["shop.red", "shop.reed", "shop.bed", "shop.rad", "shop.rot"]
        #expect(hints(keys, for: ["shop.res"]) == ["did you mean 'shop.red'?"])
        #expect(
            hints(["a.lamp1", "a.lamp2", "a.lamp3", "a.lamp4"], for: ["a.lamp"])
                == ["did you mean 'a.lamp1', 'a.lamp2' or 'a.lamp3'?"]
        )
    }

    @Test("what lies below a key is named where nothing is like it")
    func below() {
        let below = hints(["cart.items", "cart.total"], for: ["cart"])
        #expect(below == ["below it there is 'cart.items' and 'cart.total'"])
    }

    @Test("nothing is guessed where nothing is near")
    func nothing() {
        let none = "keys lists what there is"
        #expect(hints([], for: ["a"]) == [none])
        #expect(hints(["b", "cart.total"], for: ["a", "zebra.total.x"]) == [none, none])
        let long = String(repeating: "k", count: 97)
        let found = hints([long], for: [long + "k", String(long.dropLast(2))])
        #expect(found == [none, "did you mean '\(long)'?"])
    }

    @Test("keys that were deleted or are only observed are not named")
    func absent() {
        let test = BareHub()
        let client = test.client()
        test.send("publish lamp 1", from: client)
        test.send("delete lamp", from: client)
        test.send("subscribe lamp", from: client)
        let reply = test.send("get lam", from: client)
        #expect(reply.first?.contains("keys lists what there is") == true)
    }

    @Test("only the first 16 misses of a turn are searched for")
    func perTurn() {
        let test = BareHub()
        let client = test.client()
        test.send("publish lamp 1", from: client)
        let replies = (0..<17).map { _ in test.send("get lam", from: client).first ?? "" }
        #expect(replies.map { $0.contains("did you mean") } == Array(repeating: true, count: 16) + [false])
        test.endTurn()
        let next = test.send("get lam", from: client).first ?? ""
        #expect(next.contains("did you mean"))
    }

    @Test("a search leaps over what lies below its neighbours")
    func leaps() {
        let test = BareHub()
        let client = test.client()
        for group in 0..<20 {
            for number in 0..<500 { test.send("publish data.g\(group).n\(number) 1", from: client) }
        }
        test.send("publish data.gxxx.n7 1", from: client)
        let reply = test.send("get data.gxxy.n7", from: client).first ?? ""
        #expect(reply.contains("data.gxxx.n7"))
    }
}
