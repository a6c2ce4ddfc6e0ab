// Random trees and random changes of them. They are small and have few names and texts, so
// that two of them often have something in common.

import TestSupport

extension Tree {
    static let names = [
        "a", "b", "c", "", "é", "a/b", "m~n", "0", "1", "-", "\"", "😀", "long name of a member",
    ]
    private static let texts = [
        "", "a", "b", "aa", "Nokia", "\u{1}", "\\", "é", "e\u{301}", "😀", "\u{FFFF}", "10",
    ]
    private static let numbers = [
        "0", "-0", "1", "1.0", "1e0", "10e-1", "0.1", "0.10", "-1", "100", "1e2", "99.999", "1E400",
        "-1e-400",
        "12345678901234567890", "12345678901234567891",
    ]

    /// How to make a tree.
    struct Recipe {
        var depth = 3
        /// Whether a name may occur twice in an object.
        var repeats = false
        var nulls = true
    }

    static func random(_ recipe: Recipe, _ random: inout SeededRandom) -> Tree {
        var inner = recipe
        inner.depth -= 1
        switch random.below(recipe.depth > 0 ? 9 : 5) {
        case 0: return recipe.nulls ? .null : .bool(true)
        case 1: return .bool(random.oneIn(2))
        case 2, 3: return .number(numbers[random.below(numbers.count)])
        case 4: return .string(texts[random.below(texts.count)])
        case 5: return .array((0..<random.below(4)).map { _ in Tree.random(inner, &random) })
        default: return object(inner, &random)
        }
    }

    static func object(_ recipe: Recipe, _ random: inout SeededRandom) -> Tree {
        var members: [Member] = []
        for _ in 0..<random.below(7) {
            let name = Array(names[random.below(names.count)].utf8)
            if !recipe.repeats, members.contains(where: { $0.name == name }) { continue }
            members.append(Member(name: name, value: Tree.random(recipe, &random)))
        }
        return .object(members)
    }

    /// The tree, with a random change or without one.
    func changed(_ recipe: Recipe, _ random: inout SeededRandom) -> Tree {
        switch self {
        case .object(var members):
            switch random.below(6) {
            case 0: members.shuffle(using: &random)
            case 1 where !members.isEmpty: members.remove(at: random.below(members.count))
            case 2: members += Self.addition(to: members, recipe, &random)
            case 3...5 where !members.isEmpty:
                let place = random.below(members.count)
                members[place].value = members[place].value.changed(recipe, &random)
            default: break
            }
            return .object(members)
        case .array(var elements) where !elements.isEmpty && !random.oneIn(4):
            let place = random.below(elements.count)
            elements[place] = elements[place].changed(recipe, &random)
            return .array(elements)
        default: return .random(recipe, &random)
        }
    }

    private static func addition(
        to members: [Member], _ recipe: Recipe, _ random: inout SeededRandom
    ) -> [Member] {
        let name = Array(names[random.below(names.count)].utf8)
        if !recipe.repeats, members.contains(where: { $0.name == name }) { return [] }
        return [Member(name: name, value: .random(recipe, &random))]
    }
}
