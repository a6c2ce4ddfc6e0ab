// A request that looks at more keys than others can wait for. It is put off before it has changed anything,
// goes on with some keys in each turn, and is executed again when all were found. Its client's next lines
// wait meanwhile, so that replies keep their order.

import PlugboardMemory
import PlugboardWire

/// A request that is put off. Owned by `Requests`.
final class Walk {
    let session: SessionHandle
    let request: Request
    /// The number of its line, and the line.
    let number: UInt64
    let line: [UInt8]
    /// The revision at its beginning.
    let since: UInt64
    /// What was decoded of the line; the hub's own while the request is executed.
    var decoder = RequestDecoder()
    var search: KeySearch

    init(
        _ request: Request,
        _ line: Span<UInt8>,
        number: UInt64,
        from session: SessionHandle,
        _ search: KeySearch,
        since: UInt64
    ) {
        (self.request, self.number, self.session, self.since) = (request, number, session, since)
        self.line = Array(line)
        self.search = search
    }
}
