// What can be called on a bus: the calls of `up`, what plugins declare, and keys that somebody names. The broker
// tells who serves a key, but has no list of all services.

import PlugboardWire

/// One row of `services`.
struct ListedService {
    let key: String
    /// The client that serves it now.
    var client: String?
    var clientNumber: UInt64?
    /// The plugin whose plugin.json lists it.
    var plugin: String?

    var json: [UInt8] {
        ObjectText().adding("key", string: key).adding("client", clientNumber).adding("name", string: client)
            .adding("plugin", string: plugin).bytes
    }
}

/// Asks the bus for its services.
struct ServiceList {
    let services: [ListedService]

    init(_ connection: BrokerConnection, _ keys: [String]) throws {
        var found = keys.map { ListedService(key: $0) }
        if let plugins = try connection.plugins() {
            found += PluginAction.allCases.map { ListedService(key: PluginKey.call($0)) }
            for plugin in plugins {
                let name = plugin["name"]?.string
                let serves = plugin["may"]?.object?["serve"]?.strings ?? []
                found += serves.map { ListedService(key: $0, plugin: name) }
            }
        }
        var seen: Set<String> = []
        services = try found.filter { seen.insert($0.key + " " + ($0.plugin ?? "")).inserted }
            .map { try Self.resolved($0, connection) }
    }

    static func table(_ services: [ListedService]) -> TextTable {
        let columns: [TextTable.Column] = [
            .init(title: "KEY", givesWay: true), .init(title: "SERVED BY"), .init(title: "PLUGIN", rank: 1),
        ]
        let rows = services.map { service in
            let client = service.client.map { "\($0) (client \(service.clientNumber ?? 0))" }
            let missing = service.isPattern ? "-" : "nobody"
            return TextTable.Row(
                cells: [service.key, client ?? missing, service.plugin ?? "-"].map(Printable.text),
                isMarked: service.client == nil && !service.isPattern
            )
        }
        return TextTable(columns: columns, rows: rows)
    }

    private static func resolved(_ service: ListedService, _ connection: BrokerConnection) throws
        -> ListedService
    {
        guard !service.isPattern else { return service }
        let reply = try connection.accepted(ObjectText(op: "who").adding("key", string: service.key))
        var service = service
        let server = reply["server"]?.object
        service.client = server?["name"]?.string
        service.clientNumber = server?["client"]?.integer
        return service
    }
}

extension ListedService {
    /// Whether it stands for many keys.
    var isPattern: Bool { key.utf8.contains(UInt8(ascii: "*")) }
}
