"""One model of several that learned different parts of a stream: what each kind of state becomes.

Every number that learning adds up or averages becomes a weighted mean, each model counted by how
much it has seen of what the number is about: an anchor by its mass, a cell by its mass, a feature
by its values. Models scale features by what they have seen, so all is first brought to one scale.
"""
