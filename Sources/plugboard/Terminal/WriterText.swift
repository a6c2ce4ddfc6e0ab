// Who wrote something, as text for a person: the name that the broker knows, and who wrote it first if that
// one passed it on: `bridge/hostB for cart@hostB`.

import PlugboardWire

enum WriterText {
    static func of(_ by: JSONValue?, _ origin: JSONValue?) -> String {
        Printable.text(by?.string ?? "?") + self.origin(origin)
    }

    /// ` for cart@hostB`; empty without an origin.
    static func origin(_ origin: JSONValue?) -> String {
        origin?.string.map { " for \(Printable.text($0))" } ?? ""
    }
}
