// Where the dashboard's page is. The plugin leaves the address, with its token, in a file beside the bus's
// socket that only this user can read, so that it is in no log and no list of processes.

import PlugboardPosix
import PlugboardWire

/// The address of the running dashboard.
enum DashboardPage {
    /// What the plugin answers as soon as it serves. A supervisor starts it for the call.
    private static let call = "dashboard.open"
    private static let suffix = ".dashboard"
    private static let bytesMax = 4_096
    /// How an address begins.
    static let addressStart = "http://"
    /// How long the plugin may take to start.
    static let patienceSeconds = 10.0

    /// The address of the dashboard of this bus. It is started if its supervisor can do that. Nil if there is
    /// neither.
    static func address(_ connection: BrokerConnection) throws -> String? {
        let request = ObjectWriter(op: "call").adding("key", string: call)
            .adding("timeout", UInt64(patienceSeconds * 1_000))
        let reply = try connection.request(request)
        if reply.kind == .error("no_provider") { return nil }
        if let refusal = reply.refusal { throw refusal }
        let path = connection.path + suffix
        let text = try InputFile.contents(path: path, limit: bytesMax)
        do throws(JSONFault) {
            if let address = try JSONObject(parsing: text[...])["address"]?.string { return address }
        } catch {
            throw CommandError(.refused, "\(path) is no address: \(error.message)")
        }
        throw CommandError(.refused, "\(path) has no address")
    }

    /// The file with a page that leads to the address, which the plugin leaves beside the other one. A browser
    /// that is started with the address itself would show it to everyone who lists the processes.
    static func signpost(of connection: BrokerConnection) -> String {
        let path = connection.path + suffix + ".html"
        return path.hasPrefix("/") ? path : Folder.current() + "/" + path
    }
}
