// What one client may do, from the rules that apply to it. Rights are made when a client connects, when it
// takes a name, and when a policy is loaded. Clients to whom the same rules apply share them. A grant
// belongs to one client. Only the loop's thread uses both.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire

final class Rights {
    /// By the numbers of the actions.
    private let (allow, deny): ([PatternSet], [PatternSet])

    init(_ rules: [PolicyRule]) {
        func union(_ patterns: (PolicyRule) -> ActionPatterns) -> [PatternSet] {
            PolicyAction.allCases.map { action in
                PatternSet(Array(Set(rules.flatMap { patterns($0)[action] })))
            }
        }
        (allow, deny) = (union(\.allow), union(\.deny))
    }

    var patternCount: Int { (allow + deny).reduce(0) { $0 + $1.all.count } }

    /// Whether an action is permitted on a key, or on the keys that a pattern matches. One allowed pattern has
    /// to cover all of these keys.
    func permit(_ action: PolicyAction, _ keys: Span<UInt8>, _ scope: RightsScope = .key) -> Bool {
        let (allow, deny) = (allow[action.rawValue], deny[action.rawValue])
        return switch scope {
        case .key: allow.match(keys) && !deny.match(keys)
        case .all: allow.cover(keys) && !deny.overlap(keys)
        case .some: allow.overlap(keys) && !deny.cover(keys)
        }
    }

    /// Whether these rights may show something that `other` hides: a key, or a call to a server. True also if
    /// they only differ in form.
    func mayShowMore(than other: Rights) -> Bool {
        [PolicyAction.subscribe, .serve].contains { !other.hidden($0, since: self).isEmpty }
    }

    /// What these rights may hide and earlier ones showed; nil showed everything.
    func hidden(_ action: PolicyAction, since before: Rights?) -> HiddenKeys {
        let (allow, deny) = (allow[action.rawValue].all, deny[action.rawValue].all)
        let denied = Set(deny).subtracting(before?.deny[action.rawValue].all ?? [])
        let unallowed = Set(before?.allow[action.rawValue].all ?? [Array("**".utf8)]).subtracting(allow)
        return HiddenKeys(denied: Array(denied), unallowed: Array(unallowed), allowed: allow)
    }
}

/// Keys that a client might see before, and may not see now.
struct HiddenKeys {
    let denied: [[UInt8]]
    let unallowed: [[UInt8]]
    let allowed: [[UInt8]]

    var patternCount: Int { denied.count + unallowed.count + allowed.count }
    var isEmpty: Bool { denied.isEmpty && unallowed.isEmpty }

    /// Whether a pattern may match such a key.
    func mayMatch(_ pattern: Span<UInt8>) -> Bool {
        denied.contains { Pattern.overlaps($0.span, pattern) }
            || unallowed.contains { Pattern.overlaps($0.span, pattern) }
                && !allowed.contains { Pattern.covers($0.span, pattern) }
    }
}

/// What is to be permitted: one key, every key that a pattern matches, or at least some of these.
enum RightsScope { case key, all, some }

/// The rights of one client. It may do what both the policy and the supervisor allow.
final class Grant: Checked {
    let groups: [UInt32]
    var name: String?
    var rights: Rights?
    var account: Account?
    var plugin: SupervisedPlugin?
    /// It publishes the states of plugins, and no policy applies to it.
    let isSupervisor: Bool

    init(groups: [UInt32], rights: Rights?, isSupervisor: Bool = false) {
        self.groups = groups
        self.rights = rights
        self.isSupervisor = isSupervisor
    }

    @inline(never)
    func permit(_ action: PolicyAction, _ keys: Span<UInt8>, _ scope: RightsScope = .key) -> Bool {
        rights?.permit(action, keys, scope) ?? true && plugin?.rights?.permit(action, keys, scope) ?? true
    }

    /// The text of a refusal: what forbids an action on a key, and a hint.
    func objection(_ action: PolicyAction, _ key: Span<UInt8>) -> (who: String, hint: String) {
        guard let own = plugin?.rights, !own.permit(action, key, .some) else { return Self.policyObjection }
        return ("the plugin.json of this plugin", "its \"\(action.listName)\" lists what is allowed")
    }

    static let policyObjection = (who: "the policy", hint: "the broker's --policy says who may what")
}

extension PolicyAction {
    var listName: String {
        switch self {
        case .subscribe: "subscribes"
        case .publish, .emit: "publishes"
        case .call: "calls"
        case .serve: "serves"
        case .control: "controls"
        }
    }
}

// The rights that a broker hands to its successor in the same process: since when the policy has been in
// force, and what each plugin may do. Without them, every plugin could do everything until its supervisor has
// connected again. A value, used before and after the loops of the two brokers. To another program it goes as
// lines of JSON: first the policy and the supervisor, then a line for each plugin.

struct CarriedRights: Sendable {
    private let policy: [UInt8]?
    /// The revision at which that policy came into force; nil without one.
    private let policyRevision: UInt64?
    private let supervisorName: String?
    private let plugins: [[UInt8]]

    init(_ access: borrowing Access, _ supervision: borrowing Supervision) {
        policy = access.policy?.text
        policyRevision = policy == nil ? nil : access.policyRevision
        (supervisorName, plugins) = (supervision.supervisorName, supervision.reports)
    }

    /// Lines for a successor that follows this policy.
    func text(for next: Policy?) -> [UInt8] {
        let since = next?.text == policy ? policyRevision : nil
        var buffer = ByteBuffer()
        buffer.append(#"{"since":"#)
        buffer.append(string: since.map { "\($0)" } ?? "null")
        if let supervisorName {
            buffer.append(#","name":"#)
            JSONText.append(supervisorName, to: &buffer)
        }
        buffer.append("}\n")
        for plugin in plugins {
            buffer.append(plugin.span)
            buffer.append("\n")
        }
        return Array(buffer.bytes)
    }

    /// The rights that an earlier program in this process left as lines, together with this policy; nil if
    /// they can't be read.
    init?(_ file: DataFile?, _ policy: Policy?) {
        guard let text = try? file?.contents() else { return nil }
        let lines = text.split(separator: 0x0A).map { Array($0) }
        guard let head = lines.first, let json = try? JSONOutline(head.span, at: 0),
            json.kind(0, of: head.span) == .object
        else { return nil }
        var (since, name): (UInt64?, String?)
        for member in json.children(0, of: head.span) {
            switch json.text(member, of: head.span) {
            case "since": since = UInt64(String(json.bytes(member + 1, of: head.span)))
            case "name" where json.kind(member + 1, of: head.span) == .string:
                name = json.text(member + 1, of: head.span)
            default: break
            }
        }
        (self.policy, policyRevision) = (policy?.text, since)
        (supervisorName, plugins) = (name, Array(lines.dropFirst()))
    }

    /// Gives them to the successor. Call it when its policy and its supervisor are set, and before the
    /// first client connects.
    func give(to access: inout Access, _ supervision: inout Supervision) {
        if let policyRevision, access.policy?.text == policy { access.restore(policySince: policyRevision) }
        guard supervision.supervisor != nil else { return }
        supervision.supervisorName = supervisorName
        for text in plugins {
            if let report = try? PluginReport(text.span, at: 0) { _ = supervision.take(report) }
        }
    }
}
