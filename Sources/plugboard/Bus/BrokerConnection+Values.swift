// Reads what the broker and `up` tell about themselves: the broker's own keys, and the plugins.

import PlugboardWire

extension BrokerConnection {
    /// A key's value; nil if it has none.
    func value(of key: String) throws -> JSONValue? {
        let reply = try request(ObjectWriter(op: "get").adding("key", string: key))
        if reply.kind == .error("not_found") { return nil }
        if let refusal = reply.refusal { throw refusal }
        return reply["value"]
    }

    /// The value of a key of the broker's own. It is there unless a policy hides it from this client.
    func ownValue(of key: String) throws -> JSONValue {
        if let value = try value(of: key) { return value }
        throw CommandError(
            .refused,
            "the broker's policy doesn't let this client see \(key)",
            hints: ["the policy's \"allow\" needs \"$broker.**\" beside \"**\""]
        )
    }

    /// The values whose keys match a pattern, at one revision, in the order in which they come.
    func values(matching pattern: String) throws -> [(key: String, value: JSONValue)] {
        let reply = try accepted(ObjectWriter(op: "subscribe").adding("key", string: pattern))
        var values: [(key: String, value: JSONValue)] = []
        while true {
            let line = try nextLine()
            if line.kind == .event("synced") { break }
            guard line["initial"]?.bool == true, let key = line["key"]?.string, let value = line["value"]
            else { continue }
            values.append((key, value))
        }
        if let sub = reply["sub"]?.integer {
            _ = try accepted(ObjectWriter(op: "unsubscribe").adding("sub", sub))
        }
        return values
    }

    /// The plugins of `up`; nil if `up` didn't start the broker, or may not be asked. Throws if `up` can't
    /// answer: then nobody knows whether a plugin is broken.
    func plugins() throws -> [JSONObject]? {
        let reply = try request(ObjectWriter(op: "call").adding("key", string: PluginKey.call(.list)))
        if reply.kind == .error("no_provider") || reply.kind == .error("forbidden") { return nil }
        if let refusal = reply.refusal { throw refusal }
        return reply["value"]?.array?.compactMap(\.object)
    }

    /// The clients but this one, by their numbers.
    func clients() throws -> [JSONObject] {
        let own = greeting?["client"]?.integer
        return try values(matching: TopKeys.clients + "*").compactMap(\.value.object)
            .filter { $0["client"]?.integer != own }
            .sorted { ($0["client"]?.integer ?? 0) < ($1["client"]?.integer ?? 0) }
    }
}
