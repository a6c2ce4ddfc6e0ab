// Which requests of the page reach the broker. The page speaks the protocol, but through the plugin's
// connection and with its rights. So the server reads each line as the broker would, and lets through only
// what the page needs; writes only with `--write`.

import PlugboardMemory
import PlugboardWire

/// What the page may ask.
struct RequestRules {
    /// The calls that the page makes: both only read.
    private static let calls = ["plugins.list", "plugins.log"]

    private static let readOnly = Refusal(
        .forbidden, "this dashboard only reads", hint: "start it with --write"
    )

    /// The result of a check.
    enum Verdict: Equatable {
        /// The broker gets the line, and its reply will have this id.
        case passes(id: Int64)
        /// The page gets this line instead.
        case refused([UInt8])
    }

    /// Whether the page may write.
    let writes: Bool
    private let decoder: RequestDecoderBox

    init(writes: Bool) {
        self.writes = writes
        decoder = RequestDecoderBox()
    }

    func check(_ line: [UInt8]) -> Verdict {
        guard !line.span.contains(0x0A), !line.span.contains(0x0D), line.first == UInt8(ascii: "{") else {
            return refusal(Refusal(.badJSON, "a request is one line with one JSON object"), id: [])
        }
        guard line.count <= Limits.lineBytesMax else {
            return refusal(Refusal(.tooLong, "a line has at most \(Limits.lineBytesMax) bytes"), id: [])
        }
        return decoder.read(line) { request, options, id, key, mistake in
            if let mistake { return refusal(mistake, id: id) }
            guard let number = Int64(String(decoding: id, as: UTF8.self)) else {
                return refusal(Refusal(.badID, "a request of the page has an integer as its id"), id: [])
            }
            if let complaint = complaint(request.operation, options, key) {
                return refusal(complaint, id: id)
            }
            return .passes(id: number)
        }
    }

    private func complaint(_ operation: PlugboardWire.Operation, _ options: RequestOptions, _ key: String)
        -> Refusal?
    {
        switch operation {
        case .get, .keys, .subscribe, .unsubscribe, .who, .why, .trace, .explain, .sync, .help: return nil
        // Its own subscriptions it may hold.
        case .pause, .resume, .step: return options.client == 0 || writes ? nil : Self.readOnly
        case .publish, .emit, .patch, .delete, .batch: return writes ? nil : Self.readOnly
        case .call where Self.calls.contains(key): return nil
        default: return Refusal(.forbidden, "a dashboard does not \(operation.name)")
        }
    }

    private func refusal(_ refusal: Refusal, id: [UInt8]) -> Verdict {
        var buffer = ByteBuffer()
        ReplyEncoder.appendRefusal(refusal, id: id.span, line: 1, to: &buffer)
        return .refused([UInt8](buffer.bytes))
    }
}

/// Keeps a decoder, which can't be copied.
private final class RequestDecoderBox {
    private var decoder = RequestDecoder()

    /// Hands `body` what the line says, and the mistake in it if there is one.
    func read<Result>(
        _ line: [UInt8], _ body: (Request, RequestOptions, _ id: [UInt8], _ key: String, Refusal?) -> Result
    ) -> Result {
        // Decoding changes the bytes of strings with escapes.
        var copy = line
        var request = Request()
        var mistake: Refusal?
        do throws(Refusal) {
            var span = copy.mutableSpan
            try decoder.decode(&span, into: &request)
        } catch {
            mistake = error
        }
        let id = [UInt8](request.id.bytes(of: copy.span))
        let key = String(decoding: [UInt8](request.key.bytes(of: copy.span)), as: UTF8.self)
        return body(request, decoder.options, id, key, mistake)
    }
}
