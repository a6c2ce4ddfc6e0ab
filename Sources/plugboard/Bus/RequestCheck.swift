// Checks a request without a broker, so that a mistake in the command line is reported whether
// there is a broker or not.

import PlugboardMemory
import PlugboardWire

extension ObjectWriter {
    /// This request with patterns. If a broker would refuse its form, throws in a broker's words.
    func checked() throws(CommandError) -> ObjectWriter {
        var line = bytes
        var refusal: Refusal?
        do throws(Refusal) { try Self.check(&line) } catch { refusal = error }
        guard let refusal else { return self }
        throw .usage(
            "\(refusal.code.rawValue): \(SystemText.ofPlain(refusal.message))",
            hint: refusal.hint.map { "hint: \(SystemText.ofPlain($0))" }
        )
    }

    private static func check(_ line: inout [UInt8]) throws(Refusal) {
        var decoder = RequestDecoder()
        var request = Request()
        var span = line.mutableSpan
        try decoder.decode(&span, into: &request)
        let text = line.span
        for range in decoder.patterns + (request.has(.key) ? [request.key] : []) {
            guard let fault = Pattern.fault(range.bytes(of: text)) else { continue }
            let name = String(range.bytes(of: text))
            throw Refusal(.badPattern, "\"\(name)\" is no pattern: \(fault.rawValue)")
        }
    }
}
