// The keys that match a pattern, page by page.

import PlugboardWire

/// The pages of a list of keys.
enum KeyPages {
    /// Asks for the keys that match a pattern. `body` gets the entries of each page as the broker wrote them.
    static func forEach(
        of pattern: String, from connection: BrokerConnection, _ body: ([JSONValue]) throws -> Void
    ) throws {
        var request = try ObjectWriter(op: "keys").adding("key", string: pattern).checked()
        while true {
            let reply = try connection.accepted(request)
            let keys = reply["keys"]?.array ?? []
            try body(keys)
            guard reply["more"]?.bool == true, let last = keys.last?.object?["key"]?.string else { return }
            request = ObjectWriter(op: "keys").adding("key", string: pattern).adding("after", string: last)
        }
    }

    /// The names of all keys that match.
    static func names(of pattern: String, from connection: BrokerConnection) throws -> [String] {
        var names: [String] = []
        try forEach(of: pattern, from: connection) { names += $0.compactMap { $0.object?["key"]?.string } }
        return names
    }
}
