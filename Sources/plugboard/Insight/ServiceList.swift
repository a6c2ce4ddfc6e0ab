// What can be called on a bus: what clients serve, by `$broker.services`, what plugins declare and nobody
// serves now, and keys that somebody names, also those that nobody knows.

import PlugboardWire

/// One row of `services`.
struct ListedService {
    let key: String
    /// The client that serves it now.
    var client: String?
    var clientNumber: UInt64?
    /// The plugin whose plugin.json lists it.
    var plugin: String?
    /// What the broker counts of its calls.
    var counts: JSONObject?

    var json: [UInt8] {
        let service = ObjectWriter().adding("key", string: key).adding("client", clientNumber)
            .adding("name", string: client).adding("plugin", string: plugin)
        return ["asked", "answered", "failed", "mean", "max", "spares"].reduce(service) { service, name in
            service.adding(name, json: counts?[name]?.bytes)
        }
        .bytes
    }
}

/// Asks the bus for its services.
struct ServiceList {
    let services: [ListedService]

    /// All services, or those that match one of the words. A word that is a key has a row in any case.
    init(_ connection: BrokerConnection, _ words: KeyWords) throws {
        var found = try Self.served(connection)
        let present = Set(found.map(\.key))
        var missing = words.plain.map { ListedService(key: $0) }
        for plugin in try connection.plugins() ?? [] {
            let name = plugin["name"]?.string
            let serves = plugin["may"]?.object?["serve"]?.strings ?? []
            missing += serves.map { ListedService(key: $0, plugin: name) }
            for place in found.indices where found[place].client == name && serves.contains(found[place].key)
            {
                found[place].plugin = name
            }
        }
        missing.removeAll { present.contains($0.key) || !Self.isWanted($0.key, words) }
        found.removeAll { !Self.isWanted($0.key, words) }
        var seen: Set<String> = []
        found += try missing.filter { seen.insert($0.key + " " + ($0.plugin ?? "")).inserted }
            .map { try Self.resolved($0, connection) }
        services = found.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    }

    static func table(_ services: [ListedService]) -> TextTable {
        let columns: [TextTable.Column] = [
            .init(title: "KEY", givesWay: true), .init(title: "SERVED BY"), .init(title: "PLUGIN", rank: 6),
            .init(title: "ASKED", atEnd: true, rank: 1), .init(title: "ANSWERED", atEnd: true, rank: 2),
            .init(title: "FAILED", atEnd: true, rank: 3), .init(title: "MEAN", atEnd: true, rank: 4),
            .init(title: "MAX", atEnd: true, rank: 5),
        ]
        let rows = services.map { service in
            let client = service.client.map { "\($0) (client \(service.clientNumber ?? 0))\(service.line)" }
            let missing = service.isPattern ? "-" : "nobody"
            return TextTable.Row(
                cells: [service.key, client ?? missing, service.plugin ?? "-"].map(Printable.text)
                    + service.figures,
                isMarked: service.client == nil && !service.isPattern
            )
        }
        return TextTable(columns: columns, rows: rows)
    }

    private static func isWanted(_ key: String, _ words: KeyWords) -> Bool {
        words.words.isEmpty
            || words.words.contains { Pattern.matches(Array($0.utf8).span, Array(key.utf8).span) }
    }

    /// What clients serve now.
    private static func served(_ connection: BrokerConnection) throws -> [ListedService] {
        let listed = try connection.ownValue(of: TopKeys.services).object?["services"]?.array ?? []
        return listed.compactMap(\.object).compactMap { service in
            service["key"]?.string.map {
                ListedService(
                    key: $0,
                    client: service["name"]?.string,
                    clientNumber: service["client"]?.integer,
                    counts: service
                )
            }
        }
    }

    private static func resolved(_ service: ListedService, _ connection: BrokerConnection) throws
        -> ListedService
    {
        guard !service.isPattern else { return service }
        let reply = try connection.accepted(ObjectWriter(op: "who").adding("key", string: service.key))
        var service = service
        let server = reply["server"]?.object
        service.client = server?["name"]?.string
        service.clientNumber = server?["client"]?.integer
        return service
    }
}

extension ListedService {
    /// Its calls: how many were asked, answered and have failed, and how long answers took.
    fileprivate var figures: [String] {
        guard let counts else { return ["-", "-", "-", "-", "-"] }
        return ["asked", "answered", "failed"].map { counts[$0]?.integer.map(Amount.count) ?? "-" }
            + ["mean", "max"].map { name in
                guard let time = counts[name]?.integer, counts["answered"]?.integer ?? 0 > 0 else {
                    return "-"
                }
                return Amount.duration(microseconds: Double(time))
            }
    }

    /// How many clients wait to take over.
    fileprivate var line: String {
        let spares = counts?["spares"]?.array?.count ?? 0
        return spares == 0 ? "" : " +\(spares)"
    }

    /// Whether it stands for many keys.
    var isPattern: Bool { key.utf8.contains(UInt8(ascii: "*")) }
}
