"""Sentence forms of Chinese."""

from __future__ import annotations

from engrams.extract.rules.languages.language_table import LanguageTable

_ADVERBS = r"(?:现在|目前|已经|也|还|一直|就|刚|昨天|上周|上个月|去年|今年)*"

_FORMS: list[tuple[str, ...]] = [
    (
        "lives_in",
        "home",
        r"我(?:已经|现在)?不(?:再)?住在?(?P<o>[^，。！？]+?)了?$",
        "ends",
    ),
    (
        "works_at",
        "work",
        (
            r"我(?:已经|现在)?(?:不(?:再)?在(?P<o>[^，。！？]+?)(?:工作|上班)了?|(?:从(?P<n>[^，。"
            r"！？]+?))?(?:辞职|离职)了?)"
        ),
        "ends",
    ),
    (
        "lives_in",
        "home",
        rf"我(?:们)?{_ADVERBS}搬(?:家)?(?:到|去)了?(?P<o>[^，。！？了]+)",
        "changes",
    ),
    (
        "lives_in",
        "home",
        rf"我{_ADVERBS}(?:住在?|家在|定居在?)(?P<o>[^，。！？了过着的得][^，。！？]*)",
    ),
    ("works_at", "work", rf"我{_ADVERBS}在(?P<o>[^，。！？]+?)(?:工作|上班)"),
    (
        "works_at",
        "work",
        rf"我{_ADVERBS}(?:加入|入职)了?(?P<o>[^，。！？了]+)",
        "changes",
    ),
    (
        "is_named",
        "identity",
        r"我(?:的名字)?(?:叫|是叫)(?P<o>[^，。！？]{1,12})|我的名字是(?P<n>[^，。！？]{1,12})",
    ),
    ("age", "identity", r"我(?:今年|现在)?(?P<o>\d{1,3})岁"),
    (
        "favorite",
        "preference",
        r"我最喜欢的(?P<f>[^，。！？是]{1,6})是(?P<o>[^，。！？]+)",
    ),
    (
        "likes",
        "preference",
        r"我(?:现在|一直|真的|很|非常)*(?:不(?:太|再)?喜欢|讨厌|不爱)(?P<o>[^，。！？]+)",
        "no",
    ),
    (
        "likes",
        "preference",
        r"我(?:也|很|非常|特别|真的|一直|最|现在)*(?:喜欢|爱|热爱)(?P<o>[^，。！？]+)",
    ),
    ("speaks", "language", r"我(?:也|还)?会说(?P<o>[^，。！？]+)"),
    ("allergic_to", "health", r"我对(?P<o>[^，。！？]+?)过敏"),
    ("diet", "health", r"我(?:现在)?(?:是|吃)(?P<o>素食者|纯素|素)"),
    (
        "from",
        "identity",
        r"我(?:是|来自)(?P<o>[^，。！？是]{1,8}?)人$|我来自(?P<n>[^，。！？]+)",
    ),
    (
        "married_to",
        "family",
        r"我(?:和|跟|与)(?P<o>[^，。！？]+?)结婚了",
        "changes",
    ),
    (
        "lives_in",
        "home",
        r"我(?:的)?<rel>(?:现在|也)?(?:住在?|搬到了?)(?P<o>[^，。！？]+)",
    ),
    (
        "works_at",
        "work",
        r"我(?:的)?<rel>(?:现在|也)?在(?P<o>[^，。！？]+?)(?:工作|上班)",
    ),
    ("is_named", "identity", r"我(?:的)?<rel>叫(?P<o>[^，。！？]{1,12})"),
    (
        "has",
        "possession",
        r"我(?:家)?有(?P<o>(?:一|两|二|三|四|五|\d+)(?:只|条|个|辆|套|匹)[^，。！？]{1,12})",
    ),
    (
        "attribute",
        "identity",
        r"我(?:的)?(?:新)?<prop>(?:现在)?(?:是|：|叫)(?P<o>[^，。！？]+)",
    ),
    (
        "job",
        "work",
        (
            r"我(?:现在)?(?:是|做|当)(?:一)?(?:名|个|位)?(?P<o>[^，。"
            r"！？的]{0,6}(?:医生|老师|教师|工程师|律师|护士|学生|设计师|程序员|会计|厨师|司机|记者|作家|教授|经理|演员|歌手|画家|销售|警察))$"
        ),
    ),
    (
        "studies_at",
        "education",
        rf"我{_ADVERBS}在(?P<o>[^，。！？]+?)(?:读书|上学|念书|读大学|读研)",
    ),
    (
        "graduated_from",
        "education",
        r"我(?:毕业于|是从?(?P<n>[^，。！？]+?)毕业)(?P<o>[^，。！？]*)",
    ),
    (
        "went_to",
        "event",
        rf"我(?:们)?(?:{_ADVERBS}|前天|今天|周末|上个周末)*去了(?P<o>[^，。！？]+)",
    ),
    ("bought", "event", rf"我(?:{_ADVERBS}|前天|今天)*买了(?P<o>[^，。！？]+)"),
    ("has", "possession", rf"我{_ADVERBS}养了?(?P<o>[^，。！？]{{1,12}})"),
]

CHINESE = LanguageTable(
    code="zh",
    cue=r"[我俺]",
    hypothetical=r"如果|要是|假如|可能|也许|或许|想(?!念)|打算|希望|应该|会不会|是不是|假设|梦见|他说|她说|计划|考虑",
    relatives={
        "妹妹": "sister", "姐姐": "sister", "哥哥": "brother", "弟弟": "brother", "妈妈": "mother", "爸爸": "father",
        "母亲": "mother", "父亲": "father", "妻子": "wife", "老婆": "wife", "太太": "wife", "丈夫": "husband", "老公": "husband",
        "女朋友": "girlfriend", "男朋友": "boyfriend", "女儿": "daughter", "儿子": "son", "奶奶": "grandmother",
        "爷爷": "grandfather", "老板": "boss", "狗": "dog", "猫": "cat", "朋友": "friend",
    },
    favorites={
        "颜色": "color", "食物": "food", "菜": "food", "电影": "movie", "书": "book", "运动": "sport", "饮料": "drink",
        "动物": "animal", "城市": "city", "歌手": "singer",
    },
    properties={
        "老板": "manager", "上司": "manager", "生日": "birthday", "电话": "phone", "电话号码": "phone", "手机号": "phone",
        "邮箱": "email", "地址": "address", "医生": "doctor", "工资": "salary", "职业": "job", "工作": "job", "预算": "budget",
    },
    forms=_FORMS,
)  # fmt: skip
