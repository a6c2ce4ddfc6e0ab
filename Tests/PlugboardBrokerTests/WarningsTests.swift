import PlugboardMemory
import PlugboardWire
import Testing

@testable import PlugboardBroker

@Suite("what the broker warns of", .computing)
struct WarningsTests {
    private func text(_ warnings: borrowing Warnings) -> String {
        var text = ByteBuffer()
        warnings.append(to: &text)
        return String(text.bytes)
    }

    @Test("a problem of the journal that goes on is one warning, and only the latest are kept")
    func kept() {
        var warnings = Warnings()
        for moment in 1...2 { warnings.raise(.storage, "full", revision: 1, at: UInt64(moment)) }
        let first = (text(warnings).contains(#""times":2"#), warnings.latest.count)
        #expect(first == (true, 1))
        for number in 1..<Warnings.keptMax { warnings.raise(.storage, "\(number)", revision: 1, at: 3) }
        let most = (text(warnings).contains("full"), warnings.latest.count)
        #expect(most == (true, Warnings.keptMax))
        warnings.raise(.storage, "one more", revision: 1, at: 4)
        let later = (text(warnings).contains("full"), warnings.latest.count)
        #expect(later == (false, Warnings.keptMax))
    }
}
