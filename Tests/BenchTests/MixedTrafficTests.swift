import PlugboardWire
import Testing

@testable import plugboard_bench

@Suite("Real traffic")
struct MixedTrafficTests {
    @Test(
        "consists of JSON of unequal lengths and shapes, and of keys of their own",
        arguments: [MixedTraffic.Spelling.compact, .spaced]
    )
    func values(spelling: MixedTraffic.Spelling) throws {
        var lengths: Set<Int> = []
        for number in 0..<2_000 {
            let value = MixedTraffic.value(number, spelling)
            var scanner = JSONScanner(value.span)
            #expect(throws: Never.self) { try scanner.skipValue() }
            #expect(scanner.position == value.count)
            #expect(spelling == .compact || value.allSatisfy { $0 < 0x80 })
            lengths.insert(value.count)
        }
        #expect(lengths.count > 50)
        let keys = (0..<5_000).map(MixedTraffic.key)
        #expect(Set(keys).count == keys.count && Set(keys.map(\.utf8.count)).count > 10)
        #expect(keys.allSatisfy { $0.wholeMatch(of: #/[a-z0-9.-]{6,64}/#) != nil })
    }

    @Test("is spelled as Python does where the row says so")
    func spaced() {
        let workload = Workload("test").with { ($0.mixed, $0.batch) = (.spaced, 5) }
        let script = Script(workload, publisher: 0, dialect: PlugboardDialect(programs: Products.programs))
        let lines = String(decoding: Array(script.batch(0)), as: UTF8.self).split(separator: "\n")
        #expect(
            lines[0].hasPrefix(
                #"{"op": "publish", "key": "home.kitchen.light.0.state", "value": {"state": "on", "#
            )
        )
        #expect(lines[4].hasPrefix(#"{"op": "publish", "id": 5, "key": "#))
    }
}
